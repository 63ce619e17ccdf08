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
  void AnswerHit(WaiterPtr waiter, const FlightResult& hit, const Closure& closure);
  /// With what the flight came to that this one waited in.
  void AnswerLanding(WaiterPtr waiter, const FlightResult& flight_result);

 private:
  /// `kept`: the artifact is, so that it may be exported by whom it was told to.
  void Answer(WaiterPtr waiter, Result<BuildAnswer> result, bool kept);
  void Record(const Waiter& waiter, const BuildAnswer& answer, const FlightResult& flight_result);

  /// That this user is told of an artifact that is kept.
  void NoteAnswered(const Waiter& waiter, const Digest& key);

  const Parts parts_;
};

/// Work for which a build waits parked, without the thread that brought it: looks at its files or
/// at what is only on the daemon's disk, and what takes long to compute. Thread-safe.
class AsyncLookups {
 public:
  using Then = std::function<void(WaiterPtr)>;
  struct Timeouts {
    std::chrono::milliseconds look{120'000};  ///< for a look, with what stands in line before it
    std::chrono::milliseconds disk{5'000};    ///< for one read of the disk
  };

  /// The table and the responder must outlive it.
  AsyncLookups(FlightTable& table, Responder& responder, const Timeouts& patience);

  /// `look` is at the caller's files and may hang for ever, so it may use only what it owns. One
  /// that takes too long, or finds too many before it, ends with the build's being answered so.
  void AtFiles(WaiterPtr waiter, std::function<void()> look, Then then);
  /// `work` computes something and uses only what it owns. A build that finds too many before it is
  /// refused.
  void Compute(WaiterPtr waiter, std::function<void()> work, Then then);
  /// `read` reads the disk, and is waited for by Close. `without` follows instead of `then` where
  /// the disk does not answer in time, or has too much to do: the disk is a help, and none now.
  /// Neither waits for anything.
  void AtDisk(WaiterPtr waiter, std::function<void()> read, Then then, Then without);
  /// No `then` follows, nor runs when this returns: it waits for the disk, if that is being read.
  /// Who is parked stays so.
  void Close();

  /// The threads, for what parks no build.
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
  /// Of callers that send their files: who does not answer holds up no look at a disk.
  FileChecks sent_files_;
  FileChecks disk_;
  FileChecks computing_;
};

/// What the output says to the caller whose plan this is: kBuilt or kFailed, the log under the
/// caller's own names.
[[nodiscard]] BuildAnswer AnswerOf(const BuildPlan& plan, const CompileOutput& output);

/// What a result without an error says to one of those who waited for it.
[[nodiscard]] BuildAnswer AnswerOf(const Waiter& waiter, const FlightResult& flight_result);

}  // namespace cccl_cache::daemon
