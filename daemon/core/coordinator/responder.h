// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "daemon/core/coordinator/build.h"
#include "daemon/core/coordinator/flight_table.h"
#include "daemon/core/lookup/history.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Answers builds. An answer counts the build in the statistics, passes it to `observe` for the
/// log, adds a compiled build to the history, and calls the build's `done` once. A dry run only
/// gets its explanation. Builds whose callers have left are ignored. Thread-safe.
class Responder {
 public:
  using Observe = std::function<void(const BuildRecord&)>;

  /// The objects must outlive the responder. `answered` may be null. `observe` may be empty.
  struct Parts {
    FlightTable& table;
    Statistics& statistics;
    BuildHistory& history;
    AnsweredBuilds* answered = nullptr;
    Observe observe;
  };
  explicit Responder(Parts parts);

  void Answer(BuildPtr build, const Error& error);
  /// Answers with an error that the request or an overload has caused, and counts the build as
  /// refused.
  void Refuse(BuildPtr build, const Error& error);
  /// Answers with the error that the compiler recently crashed twice on this build's files.
  void AnswerQuarantined(BuildPtr build);
  /// Answers with the cached failure of an earlier compile of this build.
  void AnswerFailure(BuildPtr build);
  /// Answers with an artifact from a tier. Depending on the build, this is a hit, or the result of
  /// the compile for which it waited. `closure` is the closure that matched the caller's files.
  void AnswerHit(BuildPtr build, const FlightResult& hit, const Closure& closure);
  /// Answers with the result of the flight in which the build waited.
  void AnswerFlight(BuildPtr build, const FlightResult& flight_result);
  void Explain(BuildPtr build, Explanation explanation);

 private:
  /// `kept`: whether the artifact is cached, so that the user may export it.
  void Answer(BuildPtr build, Result<BuildAnswer> result, bool kept);
  void Record(const Build& build, const BuildAnswer& answer, const FlightResult& flight_result);

  /// Records that the user of this build got the cached artifact with this key.
  void NoteAnswered(const Build& build, const Digest& key);

  /// Returns a number that identifies the request, for the caller and for the log. Numbers stay
  /// unique if the daemon restarts, and do not reveal how many requests there were between two of
  /// them.
  [[nodiscard]] uint64_t IdOf(Build::Ticket ticket) const;

  const Parts parts_;
  const Digest secret_;  ///< random for each run of the daemon; makes the numbers of IdOf
                         ///< unpredictable
};

/// Returns the answer with this output for the caller of the plan. The outcome is kBuilt or
/// kFailed. The log contains the file names that the caller uses.
[[nodiscard]] BuildAnswer AnswerOf(const BuildPlan& plan, const CompileOutput& output);

/// Returns the answer with this result for one of the builds that waited for it. The result must
/// not be an error.
[[nodiscard]] BuildAnswer AnswerOf(const Build& build, const FlightResult& flight_result);

}  // namespace cccl_cache::daemon
