// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "base/owner_process.h"
#include "client/src/steps/step_value.h"

namespace cccl_cache {

class Flights;

/// One step while a caller of this process gets or makes it.
class Flight {
 public:
  Flight(std::string name, Flights* flights) : name_(std::move(name)), flights_(flights) {}

  [[nodiscard]] bool over() const { return over_; }
  /// Returns false if a parent process makes the step, and this one has a copy of the flight.
  [[nodiscard]] bool owned() const { return owner_.IsThis(); }
  /// Returns whether the value was there before. For a flight that is over.
  [[nodiscard]] bool found() const { return found_; }

 private:
  friend class Flights;

  const std::string name_;
  Flights* const flights_;
  const OwnerProcess owner_;
  std::atomic<bool> over_{false};  ///< a child sets its copy without the lock
  // The mutex of the flights guards these members.
  std::chrono::steady_clock::time_point waits_end_ = std::chrono::steady_clock::time_point::max();
  std::shared_ptr<const StepValue> made_;
  bool found_ = false;
  CondVar changed_;
};

/// The steps that this process gets or makes now. No thread asks the daemon for a lease that its
/// own process holds. A step that is asked for again while it is made has one of two callers. If
/// the callers are nested (a build asks for the step that it makes), the inner caller must not
/// wait. Any other thread waits for the first. Thread-safe.
class Flights {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  /// The place of a caller: it leads the flight, waits for it, or is nested in its build. Without a
  /// flight, no caller of this process makes the step.
  struct Seat {
    std::shared_ptr<Flight> flight{};
    bool leads = false;
    bool nested = false;
  };

  /// Returns the object of this process. A child after a fork has another one than its parent,
  /// whose lock a thread of the parent may hold.
  static Flights& OfThisProcess();

  /// Returns the place of a caller that does not make the step. Does not wait.
  Seat Find(const std::string& name) EXCLUDES(mutex_);
  /// Returns the place of a caller that may make the step. Does not wait. A caller that leads must
  /// finish the flight.
  Seat Enter(const std::string& name) EXCLUDES(mutex_);

  /// Returns whether this thread gets or makes another step too.
  static bool ThreadLeadsAnother(const Flight& flight);

  /// Ends a flight. All waiting callers get the value, or null: then each of them makes it.
  static void Finish(Flight& flight, std::shared_ptr<const StepValue> made, bool found);
  /// Bounds the waits of all callers. Later callers do not wait.
  static void EndWaitsAt(Flight& flight, Moment moment);
  /// Waits for the end of the flight. Returns null if it ends without a value, or not in time.
  static std::shared_ptr<const StepValue> Wait(Flight& flight, Moment deadline);

 private:
  Seat Look(const std::string& name) REQUIRES(mutex_);

  const OwnerProcess owner_;
  Flights* parents_ = nullptr;  ///< kept, because copies of its flights refer to it
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Flight>> by_name_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache
