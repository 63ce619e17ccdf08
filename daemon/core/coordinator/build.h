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

/// The answer to one caller. If the compiler rejects the program, the caller gets an answer too,
/// not an error.
struct BuildAnswer {
  Outcome outcome = Outcome::kBuilt;
  TierName tier = TierName::kNone;
  Digest key;
  Digest fingerprint;
  Digest toolchain_id;
  std::string toolchain_version;
  ArtifactPtr artifact;  ///< never null; without parts if the compile failed
  std::string log;       ///< the compiler's log, with the file names that the caller uses
  int native_code = 0;
  std::string reason;                ///< why the build is uncacheable or failed; empty otherwise
  bool remembered = false;           ///< whether this is the result of an earlier compile that
                                     ///< failed, so that no compile ran now
  bool precompiled_headers = false;  ///< whether the compiler used precompiled headers for this
                                     ///< result
  bool closed = false;               ///< whether the result is cached and depends only on the
                                     ///< request and its toolchain
  std::chrono::microseconds queue_time{0};
  std::chrono::microseconds compile_time{0};
  /// The compile time that this caller saved, because another build's compile made the result. 0 if
  /// this build was compiled itself, or if the time is unknown.
  std::chrono::microseconds saved_time{0};
  uint64_t request_id = 0;  ///< number of the request in the log; 0 for none
};

/// The present numbers of running and waiting compiles and callers.
struct BuildGauges {
  size_t in_flight = 0;  ///< compiles that run
  size_t queued = 0;     ///< flights waiting for a slot or for memory
  size_t waiting = 0;    ///< callers waiting for a flight
  size_t idle_jobs = 0;  ///< shadow checks (second compiles that verify hits) that wait or run
  MemoryActivity memory;
};

/// One answered build, for its line in the log.
struct BuildRecord {
  Peer peer;
  BuildKind kind = BuildKind::kNvrtc;
  std::chrono::microseconds total_time{0};
  const Result<BuildAnswer>& result;
  bool leads = false;       ///< whether the answer comes from the compile that was started for this
                            ///< build
  uint64_t request_id = 0;  ///< as in BuildAnswer
};

/// Return the names for the log and for statistics.
[[nodiscard]] std::string_view NameOf(BuildKind kind);
[[nodiscard]] std::string_view NameOf(Outcome outcome);
[[nodiscard]] std::string_view NameOf(TierName tier);

/// The next step of a build. BuildCoordinator::Advance runs the steps in this order. It returns
/// from kJoin to kPlan if the output contains paths, because the build then needs another plan. If
/// a step had to wait for a value, `Build::awaited` holds this value when the step runs.
enum class Step : uint8_t {
  kPlan,        ///< choose the toolchain, read the options, make the fingerprint
  kQuarantine,  ///< the compiler crashed on this build: have the files changed since?
  kFailure,     ///< this build failed before: have the files changed since?
  kMemory,      ///< look in memory for the artifact, then for the manifest; else ask the disk
  kFiles,       ///< which of the manifest's recorded closures matches the caller's files?
  kClosure,     ///< look in memory for the artifact of the matching closure; else ask the disk
  kArtifact,    ///< answer with the artifact, if a tier had it
  kJoin,        ///< a miss: wait for a compile in a flight
  kElsewhere,   ///< if the build must not be compiled: do other nodes have the artifact?
  kExplain,     ///< for a dry run: give the reason for the miss
};

/// What a read of the disk found for a plan: the artifact, or if there is none, the manifest of the
/// plan's fingerprint.
struct PlanEntry {
  std::optional<FlightResult> hit = std::nullopt;
  UsersManifest manifest = {};
};

/// The result of the comparison of a manifest's closures (recorded answers about files) with the
/// caller's files.
struct TrueClosure {
  const KnownClosure* closure = nullptr;  ///< the closure that matches, owned by the compared
                                          ///< manifest; null if none matches
  /// The error with which a compile would end because the daemon can't read a file. Set only if the
  /// caller has to send that file.
  std::optional<Error> files_needed = std::nullopt;
};

/// The value for which a step waits. Another thread may have to get it.
using Awaited = std::variant<std::monostate, bool, std::optional<Result<BuildPlan>>, PlanEntry,
                             TrueClosure, std::optional<FlightResult>, std::optional<Comparison>>;

/// Present in a build that is only explained. Such a build is answered before its compile would
/// begin. The daemon compiles, stores, counts and logs nothing for it.
struct DryRun {
  Explainer::Done done;
  std::vector<TierLook> elsewhere = {};  ///< what other nodes answered, in the order of the
                                         ///< questions
  /// The manifest that other nodes have. It is compared with the files if no closure in this node's
  /// manifest matches. May be null.
  std::shared_ptr<const Manifest> manifest = nullptr;
};

/// What the cache knows about a plan.
struct PlanFindings {
  QuarantinedPtr quarantine;              ///< the crash of an earlier compile; null if there was
                                          ///< none
  KnownFailurePtr failure;                ///< the failure of an earlier compile; null if there was
                                          ///< none
  UsersManifest manifest;                 ///< the known closures; its pointers may be null
  const KnownClosure* closure = nullptr;  ///< the closure of the compared manifest that matches the
                                          ///< files; null if none matches
};

/// The state of a build that concerns flights: the present flight, and the earlier ones after which
/// the build started again.
struct FlightPart {
  std::chrono::steady_clock::time_point joined;
  bool leads = false;  ///< whether the compile is made for this build
  bool joined_before_start = false;
  bool counted_as_miss = false;  ///< whether the build was counted as a miss; it is counted once,
                                 ///< even if it starts again
  int restarts = 0;
  int overtaken = 0;  ///< number of restarts because another flight of the same fingerprint ended
                      ///< first
  /// The outcome of the build if its next lookup finds the result in a tier. It is kHit, unless the
  /// build has waited for the compile of this result.
  Outcome outcome_if_cached = Outcome::kHit;
};

/// Counts the questions about a build that this node has sent to other nodes.
struct ClusterQuestions {
  int of_flights = 0;
  std::chrono::steady_clock::time_point first;  ///< time of the first question from a flight of
                                                ///< this build
  int peeks = 0;                                ///< number of calls of Cluster::Peek
  std::optional<Digest> last_peek;              ///< the artifact for which the last Peek asked
  struct Fetched {
    Digest key;
    TierName tier = TierName::kRemote;
  };
  std::optional<Fetched> fetched;  ///< the artifact that another node has sent; none if none has
};

/// One call of BuildCoordinator::Start, from the request to the answer. A build has one owner at a
/// time: the thread that runs Advance, or the FlightTable while the build is parked or waits in a
/// flight.
struct Build {
  /// Identifies one build of this run of the daemon; 0 is never used.
  using Ticket = uint64_t;
  using Done = std::function<void(Result<BuildAnswer>)>;

  Ticket ticket = 0;
  std::shared_ptr<const BuildRequest> request;
  Peer peer;
  CallerFilesPtr files;  ///< null if the caller sends no files
  Done done;
  std::unique_ptr<DryRun> dry_run;  ///< null unless the build is a dry run; a dry run is answered
                                    ///< with DryRun::done
  std::chrono::steady_clock::time_point called;

  Step step = Step::kPlan;
  Awaited awaited;  ///< the value for `step`; monostate if there is none
  ToolchainPtr toolchain;
  int rescans = 0;          ///< number of successive waits because the toolchain had changed on
                            ///< disk again
  bool real_names = false;  ///< whether the plan uses the real names of files instead of canonical
                            ///< ones, because the output may contain paths
  /// Whether a compile of this build's files under canonical names produced output with paths. This
  /// is kept in the build, because some builds leave no manifest that records it.
  bool shows_paths = false;
  std::shared_ptr<const BuildPlan> plan;
  PlanFindings findings;  ///< what the cache knows about `plan`
  FlightPart flight;
  ClusterQuestions questions;

  [[nodiscard]] bool MayBeCompiled() const {
    return dry_run == nullptr && request->on_miss != MissAction::kRefuse;
  }
  /// Returns the manifest to compare with the caller's files; may be null.
  [[nodiscard]] const std::shared_ptr<const Manifest>& ToCompare() const {
    return dry_run && dry_run->manifest ? dry_run->manifest : findings.manifest.all;
  }
  /// Returns the awaited value and clears it. Returns an empty value if there is none of this type.
  template <typename Value>
  [[nodiscard]] Value Take() {
    Awaited taken = std::exchange(awaited, {});
    Value* const value = std::get_if<Value>(&taken);
    return value == nullptr ? Value() : std::move(*value);
  }

  /// Goes back to the first step, which chooses a toolchain again.
  void StartAgain() {
    toolchain = nullptr;
    real_names = false;
    PlanAgain();
  }

  /// Goes back to kPlan with the same toolchain, and drops all values that depend on the old plan.
  void PlanAgain() {
    step = Step::kPlan;
    awaited = {};
    findings = {};
    if (dry_run) dry_run->manifest = nullptr;
  }
};
using BuildPtr = std::unique_ptr<Build>;

}  // namespace cccl_cache::daemon
