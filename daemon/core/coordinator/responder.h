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

/// Answers callers: counts the build, has it logged, calls its callback once, and adds compiled
/// builds to the history. A dry run only gets its explanation. Does nothing for callers that have
/// left. Thread-safe.
class Responder {
 public:
  using Observe = std::function<void(const BuildRecord&)>;

  /// The parts must outlive the responder. `answered` may be null, and `observe` empty.
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
  /// Answers that the compiler recently crashed on these files.
  void AnswerQuarantined(BuildPtr build);
  /// Answers with the remembered failure of the build.
  void AnswerFailure(BuildPtr build);
  /// Answers with an artifact from a tier: as a hit, or as the result for which the build waited.
  /// `closure` is the caller's true closure, which led to the artifact.
  void AnswerHit(BuildPtr build, const FlightResult& hit, const Closure& closure);
  /// Answers with the result of the flight in which the build waited.
  void AnswerFlight(BuildPtr build, const FlightResult& flight_result);
  /// Answers a dry run.
  void Explain(BuildPtr build, Explanation explanation);

 private:
  /// `kept`: whether the artifact is cached, so that the user may export it.
  void Answer(BuildPtr build, Result<BuildAnswer> result, bool kept);
  void Record(const Build& build, const BuildAnswer& answer, const FlightResult& flight_result);

  /// Records that this user got a cached artifact.
  void NoteAnswered(const Build& build, const Digest& key);

  /// Returns the number of a request for its caller and the log. Numbers are unique across
  /// restarts, and do not reveal how many requests are between them.
  [[nodiscard]] uint64_t IdOf(Build::Ticket ticket) const;

  const Parts parts_;
  const Digest secret_;  ///< of this run of the daemon
};

/// Returns the output as an answer to the caller of this plan: kBuilt or kFailed, with the caller's
/// own names in the log.
[[nodiscard]] BuildAnswer AnswerOf(const BuildPlan& plan, const CompileOutput& output);

/// Returns a result without an error as an answer to one of the builds that waited for it.
[[nodiscard]] BuildAnswer AnswerOf(const Build& build, const FlightResult& flight_result);

}  // namespace cccl_cache::daemon
