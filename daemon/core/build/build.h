// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "daemon/core/build/coordinator.h"
#include "daemon/core/build/flight_table.h"
#include "daemon/core/lookup/history.h"
#include "daemon/core/model/file_checks.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/plan/build_plan.h"
#include "daemon/core/run/compile_runner.h"

namespace cccl_cache::daemon {

/// Answers callers: counts the build, has it logged, calls back once, and adds what was compiled to
/// the history. Does nothing for callers that have left. Thread-safe.
class Responder {
 public:
  using Observe = std::function<void(const BuildRecord&)>;

  /// The parts must outlive the responder; `answered` may be null, `observe` empty.
  struct Parts {
    FlightTable& table;
    Statistics& statistics;
    BuildHistory& history;
    AnsweredBuilds* answered = nullptr;
    Observe observe;
  };
  explicit Responder(Parts parts) : parts_(std::move(parts)) {}

  void Answer(WaiterPtr waiter, Result<BuildAnswer> result);
  /// Answers with an error that the request, or too many requests, caused, and counts it as
  /// refused.
  void Refuse(WaiterPtr waiter, const Error& error);
  /// Answers with an artifact from a tier: as a hit, or as the result that the waiter waited for.
  /// `closure`: the one that is true for the waiter and led to the artifact.
  void AnswerHit(WaiterPtr waiter, const FlightResult& hit, const Closure& closure);
  /// Answers with the result of the flight that the waiter waited in.
  void AnswerLanding(WaiterPtr waiter, const FlightResult& flight_result);

 private:
  /// `kept`: the artifact is kept, so that the user who is answered with it may export it.
  void Answer(WaiterPtr waiter, Result<BuildAnswer> result, bool kept);
  void Record(const Waiter& waiter, const BuildAnswer& answer, const FlightResult& flight_result);

  /// Notes that this user is answered with an artifact that is kept.
  void NoteAnswered(const Waiter& waiter, const Digest& key);

  const Parts parts_;
};

/// Work that a parked build waits for, without the thread that brought it: looks at its files,
/// reads of the daemon's disk, and long computations. Thread-safe.
class AsyncLookups {
 public:
  using Then = std::function<void(WaiterPtr)>;
  struct Timeouts {
    std::chrono::milliseconds look{120'000};  ///< for a look, its wait in the queue included
    std::chrono::milliseconds disk{5'000};    ///< for one read of the disk
  };

  /// The table and the responder must outlive it.
  AsyncLookups(FlightTable& table, Responder& responder, const Timeouts& patience);

  /// `look` looks at the caller's files and may hang for ever, so it may use only what it owns. If
  /// it takes too long, or too many looks are queued before it, the build is answered with an
  /// error.
  void AtFiles(WaiterPtr waiter, std::function<void()> look, Then then);
  /// `work` computes something and uses only what it owns. If too much work is queued before it,
  /// or it is not done in time, the build is refused.
  void Compute(WaiterPtr waiter, std::function<void()> work, Then then);
  /// `read` reads the disk, and Close waits for it. `without` runs instead of `then` if the disk
  /// does not answer in time or too many reads are queued: the build then goes on as if the disk
  /// held nothing. Neither `then` nor `without` waits for anything.
  void AtDisk(WaiterPtr waiter, std::function<void()> read, Then then, Then without);
  /// Returns once no `then` runs and none will follow; waits for a read of the disk in progress.
  /// Parked waiters stay parked.
  void Close();

  /// The threads, for work that parks no build.
  [[nodiscard]] FileChecks& files() { return files_; }
  [[nodiscard]] FileChecks& sent_files() { return sent_files_; }
  [[nodiscard]] FileChecks& disk() { return disk_; }

 private:
  struct Look {
    std::function<void()> look;
    Then then;
    Then late;
    std::function<void(WaiterPtr, const Error&)> refused;
  };
  void Park(WaiterPtr waiter, FileChecks& threads, Look look);

  FlightTable& table_;
  Responder& responder_;
  const Error files_hang_;
  FileChecks files_;
  /// For callers that send their files: one that does not answer holds up no look at a disk.
  FileChecks sent_files_;
  FileChecks disk_;
  FileChecks computing_;
};

/// Returns the output as an answer to the caller of this plan: kBuilt or kFailed, with the log
/// under the caller's own names.
[[nodiscard]] BuildAnswer AnswerOf(const BuildPlan& plan, const CompileOutput& output);

/// Returns a result without an error as an answer to one of its waiters.
[[nodiscard]] BuildAnswer AnswerOf(const Waiter& waiter, const FlightResult& flight_result);

}  // namespace cccl_cache::daemon
