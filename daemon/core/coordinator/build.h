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
#include "daemon/core/model/tier_look.h"
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

/// The entry of a plan's fingerprint: an artifact, or else the manifest of its files.
struct KnownEntry {
  std::optional<FlightResult> hit = std::nullopt;
  UsersManifest manifest = {};
  /// Dry run only: the manifest of other nodes, once no closure of `manifest` is true. May be null.
  std::shared_ptr<const Manifest> elsewhere = nullptr;

  /// Returns the manifest whose closures are compared with the caller's files; may be null.
  [[nodiscard]] const std::shared_ptr<const Manifest>& ToCompare() const {
    return elsewhere != nullptr ? elsewhere : manifest.all;
  }
};

/// The result of a look at the caller's files.
struct FoundClosure {
  const KnownClosure* closure = nullptr;  ///< of the build's manifest: the true one; may be null
  std::optional<Error> files_needed = std::nullopt;  ///< the error that the compile would end with
};

/// Marks a build as a dry run: it is answered before its compile would begin, and nothing is
/// compiled, kept, counted or logged.
struct DryRun {
  Explainer::Done done;
  std::vector<TierLook> elsewhere = {};  ///< what other nodes answered
};

/// The questions that a build without a lease asked other nodes.
struct AskedElsewhere {
  std::optional<Digest> last;  ///< the artifact of the last one
  int times = 0;
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
  std::chrono::steady_clock::time_point joined;

  Step step = Step::kPlan;
  ToolchainPtr toolchain;
  int rescans = 0;          ///< waits in a row for a toolchain that changed again each time
  bool real_names = false;  ///< plan it under its real names: the output may show paths
  std::optional<Result<BuildPlan>> planned;  ///< on another thread, as the request is large
  std::shared_ptr<const BuildPlan> plan;

  // All of that plan.
  QuarantinedPtr quarantine;    ///< may be null
  bool is_quarantined = false;  ///< with the files as they are now
  KnownFailurePtr failure;      ///< may be null
  bool still_fails = false;     ///< with the files as they are now
  KnownEntry known;
  FoundClosure found;
  std::optional<FlightResult> artifact;  ///< of the closure that was found

  std::optional<Comparison> comparison;  ///< of a dry run, with the user's earlier builds

  /// A compile of its files under canonical names showed paths, so it needs the real ones. Kept
  /// here because not every build leaves a manifest that records it.
  bool shows_paths = false;

  AskedElsewhere asked_elsewhere;

  bool missed = false;  ///< counted as a miss, once however often it starts again
  std::chrono::steady_clock::time_point cluster_since;  ///< of the first time
  int asked_cluster = 0;                                ///< how often its flights asked other nodes
  /// An artifact that came from elsewhere for it.
  struct FromElsewhere {
    Digest key;
    TierName tier = TierName::kRemote;
  };
  std::optional<FromElsewhere> from_elsewhere;
  /// The outcome if a tier holds its result: a hit only if the build did not wait for that compile.
  Outcome if_found = Outcome::kHit;
  bool leads = false;  ///< its flight: the compile is made for it
  bool joined_before_start = false;
  int restarts = 0;
  int overtaken = 0;  ///< how often it started again because another flight had ended

  [[nodiscard]] bool MayBeCompiled() const {
    return dry_run == nullptr && request->on_miss != MissAction::kRefuse;
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
    quarantine = nullptr;
    is_quarantined = false;
    failure = nullptr;
    still_fails = false;
    known = {};
    found = {};
    artifact.reset();
  }
};
using BuildPtr = std::unique_ptr<Build>;

}  // namespace cccl_cache::daemon
