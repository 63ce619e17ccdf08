// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/core/explain/explainer.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/lookup/manifest.h"
#include "daemon/core/lookup/manifest_table.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/activity.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

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
  /// The compile time that this caller saved; 0: none, or unknown.
  std::chrono::microseconds saved_time{0};
  uint64_t request_id = 0;  ///< names the request in the log; 0: none
};

/// Numbers of compiles and callers that run or wait right now.
struct BuildGauges {
  size_t in_flight = 0;  ///< compiles that have a slot
  size_t queued = 0;     ///< flights waiting for a slot
  size_t waiting = 0;    ///< callers waiting for a flight
  size_t idle_jobs = 0;  ///< shadow checks that wait or run
  MemoryActivity memory;
};

/// One answered build, for one line of the log.
struct BuildRecord {
  Peer peer;
  BuildKind kind = BuildKind::kNvrtc;
  std::chrono::microseconds total_time{0};
  const Result<BuildAnswer>& result;
  bool leads = false;       ///< its own compile gave the answer
  uint64_t request_id = 0;  ///< as in the answer
};

/// Returns the names for the log and for statistics.
[[nodiscard]] std::string_view NameOf(BuildKind kind);
[[nodiscard]] std::string_view NameOf(Outcome outcome);
[[nodiscard]] std::string_view NameOf(TierName tier);

/// The next thing to do for a build. BuildCoordinator::Advance goes through them in this order, and
/// from kJoin back to kPlan if the output shows paths. An awaited value lies in the build when its
/// step runs.
enum class Step : uint8_t {
  kPlan,        ///< choose the toolchain, read the options, make the fingerprint
  kQuarantine,  ///< have the files changed since the compiler died on them?
  kFailure,     ///< have they changed since the compile failed?
  kMemory,      ///< an artifact or a manifest in memory; else ask the disk
  kFiles,       ///< which closure of the manifest is true in the caller's files?
  kClosure,     ///< the artifact of that closure, in memory; else ask the disk
  kArtifact,    ///< answer with it, if there is one
  kJoin,        ///< a miss: wait in a flight
  kElsewhere,   ///< a build that may not be compiled: do other nodes have it?
  kExplain,     ///< of a dry run: say why it is a miss
};

/// What a read of the disk found for a plan: its artifact, or else the manifest of its fingerprint.
struct PlanEntry {
  std::optional<FlightResult> hit = std::nullopt;
  UsersManifest manifest = {};
};

/// What a look at the caller's files found.
struct TrueClosure {
  const KnownClosure* closure = nullptr;  ///< of the compared manifest; null: none is true
  std::optional<Error> files_needed = std::nullopt;  ///< the error that the compile would end with
};

/// The value that a step needs, and that another thread may have to get.
using Awaited = std::variant<std::monostate, bool, std::optional<Result<BuildPlan>>, PlanEntry,
                             TrueClosure, std::optional<FlightResult>, std::optional<Comparison>>;

/// Marks a build as a dry run: it is answered before its compile would begin, and nothing is
/// compiled, kept, counted or logged.
struct DryRun {
  Explainer::Done done;
  std::vector<TierLook> elsewhere = {};  ///< what other nodes answered
  /// The manifest of other nodes, compared once no closure of the own ones is true. May be null.
  std::shared_ptr<const Manifest> manifest = nullptr;
};

/// What the cache told about a plan.
struct PlanFindings {
  QuarantinedPtr quarantine;              ///< may be null
  KnownFailurePtr failure;                ///< may be null
  UsersManifest manifest;                 ///< may be null
  const KnownClosure* closure = nullptr;  ///< of the compared manifest: the true one; may be null
};

/// A build's part in its flight, and in those before.
struct FlightPart {
  std::chrono::steady_clock::time_point joined;
  bool leads = false;  ///< the compile is made for this build
  bool joined_before_start = false;
  bool counted_as_miss = false;  ///< once, however often it starts again
  int restarts = 0;
  int overtaken = 0;  ///< restarts because another flight had ended
  /// The outcome if a tier holds the result now: a hit only if the build did not wait for that
  /// compile.
  Outcome outcome_if_cached = Outcome::kHit;
};

/// A build's questions to other nodes.
struct ClusterQuestions {
  int of_flights = 0;
  std::chrono::steady_clock::time_point first;  ///< of its flights' questions
  int peeks = 0;                                ///< without a lease
  std::optional<Digest> last_peek;              ///< the artifact
  struct Fetched {
    Digest key;
    TierName tier = TierName::kRemote;
  };
  std::optional<Fetched> fetched;  ///< the artifact that came from elsewhere
};

/// One call of BuildCoordinator::Start, from the request to the answer. It has one owner at a time:
/// the thread that is in Advance, or the table while the build waits, parked or in a flight.
struct Build {
  /// Names one build; 0 is never used.
  using Ticket = uint64_t;
  using Done = std::function<void(Result<BuildAnswer>)>;

  Ticket ticket = 0;
  std::shared_ptr<const BuildRequest> request;
  Peer peer;
  CallerFilesPtr files;  ///< null: the caller sends none
  Done done;
  std::unique_ptr<DryRun> dry_run;  ///< null: the build is to be answered, by `done`
  std::chrono::steady_clock::time_point called;

  Step step = Step::kPlan;
  Awaited awaited;  ///< of this step; monostate if it was not got
  ToolchainPtr toolchain;
  int rescans = 0;          ///< waits in a row for a toolchain that changed again each time
  bool real_names = false;  ///< plan it under its real names: the output may show paths
  /// A compile of its files under canonical names showed paths. Kept here because not every build
  /// leaves a manifest that records it.
  bool shows_paths = false;
  std::shared_ptr<const BuildPlan> plan;
  PlanFindings findings;  ///< of that plan
  FlightPart flight;
  ClusterQuestions questions;

  [[nodiscard]] bool MayBeCompiled() const {
    return dry_run == nullptr && request->on_miss != MissAction::kRefuse;
  }
  /// Returns the manifest whose closures are compared with the caller's files; may be null.
  [[nodiscard]] const std::shared_ptr<const Manifest>& ToCompare() const {
    return dry_run && dry_run->manifest ? dry_run->manifest : findings.manifest.all;
  }
  /// Returns the awaited value; an empty one if it was not got.
  template <typename Value>
  [[nodiscard]] Value Take() {
    Awaited taken = std::exchange(awaited, {});
    Value* const value = std::get_if<Value>(&taken);
    return value == nullptr ? Value() : std::move(*value);
  }

  /// Starts over, from the choice of the toolchain.
  void StartAgain() {
    toolchain = nullptr;
    real_names = false;
    PlanAgain();
  }

  /// Drops all values that depend on the plan, and returns to kPlan.
  void PlanAgain() {
    step = Step::kPlan;
    awaited = {};
    findings = {};
  }
};
using BuildPtr = std::unique_ptr<Build>;

}  // namespace cccl_cache::daemon
