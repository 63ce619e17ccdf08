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
  ArtifactPtr artifact;  ///< never null; without parts if the compile failed
  std::string log;       ///< with the caller's own names
  int native_code = 0;
  std::string reason;                ///< why uncacheable or failed
  bool remembered = false;           ///< whether the failure is an earlier one that was not
                                     ///< compiled again
  bool precompiled_headers = false;  ///< whether precompiled headers were used, for this caller
  bool closed = false;               ///< whether the result is cached and depends only on the
                                     ///< request and its toolchain
  std::chrono::microseconds queue_time{0};
  std::chrono::microseconds compile_time{0};
  /// The compile time that this caller saved; 0 if there is none or it is unknown.
  std::chrono::microseconds saved_time{0};
  uint64_t request_id = 0;  ///< number of the request in the log; 0 for none
};

/// The present numbers of running and waiting compiles and callers.
struct BuildGauges {
  size_t in_flight = 0;  ///< compiles that run
  size_t queued = 0;     ///< flights waiting for a slot or for memory
  size_t waiting = 0;    ///< callers waiting for a flight
  size_t idle_jobs = 0;  ///< shadow checks that wait or run
  MemoryActivity memory;
};

/// One answered build, for its line in the log.
struct BuildRecord {
  Peer peer;
  BuildKind kind = BuildKind::kNvrtc;
  std::chrono::microseconds total_time{0};
  const Result<BuildAnswer>& result;
  bool leads = false;       ///< whether its own compile gave the answer
  uint64_t request_id = 0;  ///< as in the answer
};

/// Return the names for the log and for statistics.
[[nodiscard]] std::string_view NameOf(BuildKind kind);
[[nodiscard]] std::string_view NameOf(Outcome outcome);
[[nodiscard]] std::string_view NameOf(TierName tier);

/// The next step of a build. BuildCoordinator::Advance runs the steps in this order, and goes back
/// from kJoin to kPlan if the output shows paths. The value for which a step waited is in the build
/// when the step runs.
enum class Step : uint8_t {
  kPlan,        ///< choose the toolchain, read the options, make the fingerprint
  kQuarantine,  ///< have the files changed since the compiler crashed on them?
  kFailure,     ///< have they changed since the compile failed?
  kMemory,      ///< look for an artifact or a manifest in memory; else ask the disk
  kFiles,       ///< which closure of the manifest is true in the caller's files?
  kClosure,     ///< look for the artifact of that closure in memory; else ask the disk
  kArtifact,    ///< answer with the artifact, if there is one
  kJoin,        ///< a miss: wait in a flight
  kElsewhere,   ///< a build that may not be compiled: do other nodes have it?
  kExplain,     ///< for a dry run: give the reason for the miss
};

/// The result of a read of the disk for a plan: the artifact, or else the manifest of its
/// fingerprint.
struct PlanEntry {
  std::optional<FlightResult> hit = std::nullopt;
  UsersManifest manifest = {};
};

/// The result of a look at the caller's files.
struct TrueClosure {
  const KnownClosure* closure = nullptr;  ///< of the compared manifest; null if none is true
  std::optional<Error> files_needed = std::nullopt;  ///< the error with which the compile would end
};

/// The value for which a step waits. Another thread may have to get it.
using Awaited = std::variant<std::monostate, bool, std::optional<Result<BuildPlan>>, PlanEntry,
                             TrueClosure, std::optional<FlightResult>, std::optional<Comparison>>;

/// Marks a build as a dry run. It is answered before its compile would begin, and nothing is
/// compiled, kept, counted or logged.
struct DryRun {
  Explainer::Done done;
  std::vector<TierLook> elsewhere = {};  ///< the answers of other nodes
  /// The manifest of other nodes, compared if no closure of this node is true. May be null.
  std::shared_ptr<const Manifest> manifest = nullptr;
};

/// The findings of the cache about a plan.
struct PlanFindings {
  QuarantinedPtr quarantine;              ///< may be null
  KnownFailurePtr failure;                ///< may be null
  UsersManifest manifest;                 ///< may be null
  const KnownClosure* closure = nullptr;  ///< the true closure of the compared manifest; may be
                                          ///< null
};

/// The state of a build in its present and its earlier flights.
struct FlightPart {
  std::chrono::steady_clock::time_point joined;
  bool leads = false;  ///< whether the compile is made for this build
  bool joined_before_start = false;
  bool counted_as_miss = false;  ///< whether the miss was counted; a build that starts again counts
                                 ///< once
  int restarts = 0;
  int overtaken = 0;  ///< restarts because another flight of its fingerprint had ended
  /// The build's outcome if a tier has its result at the next lookup. Not kHit if the build waited
  /// for the compile of that result.
  Outcome outcome_if_cached = Outcome::kHit;
};

/// The questions of a build to other nodes.
struct ClusterQuestions {
  int of_flights = 0;
  std::chrono::steady_clock::time_point first;  ///< time of the first question of its flights
  int peeks = 0;                                ///< questions without a lease
  std::optional<Digest> last_peek;              ///< the artifact of the last such question
  struct Fetched {
    Digest key;
    TierName tier = TierName::kRemote;
  };
  std::optional<Fetched> fetched;  ///< the artifact that another node had
};

/// One call of BuildCoordinator::Start, from the request to the answer. It has one owner at a time:
/// the thread that runs Advance, or the table while the build is parked or waits in a flight.
struct Build {
  /// Names one build; 0 is never used.
  using Ticket = uint64_t;
  using Done = std::function<void(Result<BuildAnswer>)>;

  Ticket ticket = 0;
  std::shared_ptr<const BuildRequest> request;
  Peer peer;
  CallerFilesPtr files;  ///< null if the caller sends no files
  Done done;
  std::unique_ptr<DryRun> dry_run;  ///< null for a build that `done` answers
  std::chrono::steady_clock::time_point called;

  Step step = Step::kPlan;
  Awaited awaited;  ///< for this step; monostate if there is no value
  ToolchainPtr toolchain;
  int rescans = 0;          ///< successive waits for a toolchain that changed again
  bool real_names = false;  ///< whether to plan with its real names, because the output may show
                            ///< paths
  /// Whether a compile of its files under canonical names showed paths. Kept here because not every
  /// build leaves a manifest that records it.
  bool shows_paths = false;
  std::shared_ptr<const BuildPlan> plan;
  PlanFindings findings;  ///< of that plan
  FlightPart flight;
  ClusterQuestions questions;

  [[nodiscard]] bool MayBeCompiled() const {
    return dry_run == nullptr && request->on_miss != MissAction::kRefuse;
  }
  /// Returns the manifest to compare with the caller's files; may be null.
  [[nodiscard]] const std::shared_ptr<const Manifest>& ToCompare() const {
    return dry_run && dry_run->manifest ? dry_run->manifest : findings.manifest.all;
  }
  /// Returns the awaited value, or an empty one if there is none.
  template <typename Value>
  [[nodiscard]] Value Take() {
    Awaited taken = std::exchange(awaited, {});
    Value* const value = std::get_if<Value>(&taken);
    return value == nullptr ? Value() : std::move(*value);
  }

  /// Starts over with the choice of the toolchain.
  void StartAgain() {
    toolchain = nullptr;
    real_names = false;
    PlanAgain();
  }

  /// Drops all values that depend on the plan, and goes back to kPlan.
  void PlanAgain() {
    step = Step::kPlan;
    awaited = {};
    findings = {};
    if (dry_run) dry_run->manifest = nullptr;
  }
};
using BuildPtr = std::unique_ptr<Build>;

}  // namespace cccl_cache::daemon
