// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "daemon/core/build/build_coordinator.h"
#include "daemon/core/build/flight_table.h"
#include "daemon/core/lookup/history.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/run/compile_runner.h"

namespace cccl_cache::daemon {

/// Tells callers what became of their builds: counts it, has it logged, calls back once. What was
/// compiled goes into the history. Nothing
/// for those who left. Thread-safe.
class Responder {
 public:
  using Observe = std::function<void(const BuildRecord&)>;

  /// What it works with must outlive it; `answered` may be null, `observe` empty.
  struct Parts {
    FlightTable& table;
    Statistics& statistics;
    BuildHistory& history;
    AnsweredBuilds* answered = nullptr;
    Observe observe;
  };
  explicit Responder(Parts parts) : parts_(std::move(parts)) {}

  void Answer(WaiterPtr waiter, Result<BuildAnswer> result);
  /// With an error that the request, or too many of them, is to be blamed for.
  void Refuse(WaiterPtr waiter, const Error& error);
  /// With what lay in a tier, as a hit or as what the waiter waited for. `closure`: the one that is
  /// true for the waiter, and led there.
  void AnswerHit(WaiterPtr waiter, const Landing& hit, const Closure& closure);
  /// With what the flight came to that this one waited in.
  void AnswerLanding(WaiterPtr waiter, const Landing& landing);

 private:
  /// `kept`: the artifact is, so that it may be exported by whom it was told to.
  void Answer(WaiterPtr waiter, Result<BuildAnswer> result, bool kept);
  void Record(const Waiter& waiter, const BuildAnswer& answer, const Landing& landing);

  /// That this user is told of an artifact that is kept.
  void NoteAnswered(const Waiter& waiter, const cccl_cache::Digest& key);

  const Parts parts_;
};

}  // namespace cccl_cache::daemon
