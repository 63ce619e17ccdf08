// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/closure/sent_files.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/peer.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

class AnsweredBuilds;
class BuildCache;
class EvictionLog;
class Explainer;
class PrivateEntries;

/// The answer to one caller. A compile failure is an answer.
struct BuildAnswer {
  Outcome outcome = Outcome::kBuilt;
  TierName tier = TierName::kNone;
  Digest key;
  Digest fingerprint;
  Digest toolchain_id;
  std::string toolchain_version;
  ArtifactPtr artifact;  ///< never null; without parts when the compile failed
  std::string log;       ///< under the caller's own names
  int native_code = 0;
  std::string reason;                ///< why uncacheable or failed
  bool remembered = false;           ///< a failure that was not compiled again
  bool precompiled_headers = false;  ///< compiled with precompiled headers, for this caller
  bool closed = false;               ///< kept, and made from the request and its toolchain alone
  std::chrono::microseconds queue_time{0};
  std::chrono::microseconds compile_time{0};
};

struct BuildLimits {
  CompileLimits compile;
  size_t slots = 2;  ///< compiles at one time
  size_t queued_per_uid = 1024;
  size_t queued = 8192;
  /// Longest read of the daemon's own disk. A longer one counts as a miss: the build goes on as if
  /// nothing were there.
  std::chrono::milliseconds disk_patience{5'000};
  std::chrono::seconds remember_failures{60};
  std::chrono::seconds quarantine{600};
  uint64_t shadow_check_every = 0;       ///< one hit of so many is compiled again; 0: none
  uint64_t preamble_bytes = 1ull << 30;  ///< precompiled headers kept in memory; 0: none are made
};

/// Numbers of compiles and callers that run or wait right now.
struct BuildGauges {
  size_t in_flight = 0;  ///< compiles running
  size_t queued = 0;     ///< flights waiting for a slot
  size_t waiting = 0;    ///< callers waiting for a flight
};

/// One answered build, for one line of the log.
struct BuildRecord {
  Peer peer;
  BuildKind kind = BuildKind::kNvrtc;
  std::chrono::microseconds total_time{0};
  const Result<BuildAnswer>& result;
};

/// The main path of a build: request -> key -> look up -> join -> compile -> store -> answer.
/// Thread-safe. Hits never wait for a compile; followers hold no thread.
class BuildCoordinator {
 public:
  using Done = std::function<void(Result<BuildAnswer>)>;
  /// Names one call of Build; 0 is never used.
  using Ticket = uint64_t;

  /// Parts that the coordinator uses; each must outlive it. The toolchains must have stopped
  /// calling back when the coordinator ends.
  struct Parts {
    Toolchains& toolchains;
    Compiler& compiler;
    FileAccess& files;
    std::vector<Tier*> tiers;  ///< in the order in which they are asked
    Statistics& statistics;
    EvictionLog& eviction_log;  ///< what the tiers dropped, and who looks for it
    std::function<void(const BuildRecord&)>
        observe;  ///< called once per answered build; may be empty
    std::function<void(std::string_view)> report = {};  ///< messages for the operator
    AnsweredBuilds* answered = nullptr;  ///< notes who was answered with what; null: none
    PrivateEntries* own = nullptr;       ///< one user's entries, asked first; null: none
    /// Contents of files that callers sent; null: no caller sends any.
    std::shared_ptr<SentContents> sent_contents = nullptr;
  };

  BuildCoordinator(Parts parts, const BuildLimits& limits);
  /// Cancels running compiles and answers all waiters with kUnavailable.
  ~BuildCoordinator();
  BuildCoordinator(const BuildCoordinator&) = delete;
  BuildCoordinator& operator=(const BuildCoordinator&) = delete;

  /// `done` runs exactly once, before Build returns (a hit, an error) or later on another thread,
  /// never under a lock of the coordinator; after Leave it may or may not run.
  Ticket Build(std::shared_ptr<const BuildRequest> request, const Caller& caller, Done done);

  /// The caller no longer waits. If the last waiter leaves a flight, its compile is cancelled.
  /// Unknown and finished tickets are ignored.
  void Leave(Ticket ticket);

  /// Takes no more builds, and returns when those in progress have ended or `deadline` has passed.
  void Drain(std::chrono::milliseconds deadline);

  [[nodiscard]] BuildGauges Gauges() const;

  /// Tells why builds are misses. Lives as long as the coordinator; a question may stay unanswered
  /// when the coordinator ends.
  [[nodiscard]] const Explainer& explainer() const;
  /// Returns the cache of builds, which lives as long as the coordinator.
  [[nodiscard]] BuildCache& cache();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cccl_cache::daemon
