// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cccl_cache/expected.h"
#include "client/src/leases/deposits.h"
#include "client/src/leases/lease.h"
#include "client/src/steps/flights.h"
#include "client/src/steps/step_value.h"
#include "client/src/transport/channel.h"

namespace cccl_cache {

class OpenStep;

/// The steps of one namespace: see cccl_cache/c/steps.h. Thread-safe. No call fails: errors of the
/// daemon are counted. A forked child may use it.
class NamespaceSteps : public std::enable_shared_from_this<NamespaceSteps> {
 public:
  struct Options {
    std::string name_space;
    std::string group;
    std::string socket;
    std::chrono::milliseconds wait;
    std::chrono::milliseconds hold;
  };

  /// The fields of cccl_cache_steps_counts.
  struct Counts {
    std::atomic<uint64_t> hits{0};
    std::atomic<uint64_t> made{0};
    std::atomic<uint64_t> published{0};
    std::atomic<uint64_t> released{0};
    std::atomic<uint64_t> failed{0};
    std::atomic<uint64_t> expired{0};
    std::atomic<uint64_t> hit_bytes{0};
    std::atomic<uint64_t> made_bytes{0};
    std::atomic<uint64_t> waited_us{0};
    std::atomic<uint64_t> saved_us{0};
    std::atomic<uint64_t> errors{0};
    std::atomic<cccl_cache_status> last_error{CCCL_CACHE_OK};
  };

  explicit NamespaceSteps(Options options);

  /// Returns the step with this description, with its value or with the right to make it.
  std::unique_ptr<OpenStep> Get(std::string_view description, bool replace);
  /// Returns the step, with its value if there is one or if another caller makes it now. Otherwise
  /// without the right to make it.
  std::unique_ptr<OpenStep> Wait(std::string_view description);

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  friend class OpenStep;
  using Clock = std::chrono::steady_clock;
  using Value = std::shared_ptr<const StepValue>;

  /// The daemon's answer: the value, or the lease, or neither.
  struct Answer {
    Value value{};
    std::unique_ptr<HeldLease> lease{};
  };

  struct Wish {
    bool replace = false;
    bool briefly = false;     ///< does not wait for another process
    bool waits_only = false;  ///< the answer has no lease
    bool inside = false;      ///< the caller may hold another lease, so it must not wait for one of
                              ///< its user's leases to end
  };

  [[nodiscard]] std::string NameOf(const std::string& digest) const;
  Answer Ask(const std::string& digest, Wish wish);
  /// Removes a damaged deposit. Returns whether it was there.
  bool Remove(const std::string& key);
  void Publish(std::unique_ptr<HeldLease> lease, const std::string& digest, const StepValue& value);
  /// Counts a look-up that began at this time.
  void Count(const Value& value, Clock::time_point began);
  /// After a daemon that did not answer in time, the next waits are short. `briefly` says that this
  /// one was short too.
  void CountError(cccl_cache_status status, bool briefly = false);

  const Options options_;
  const Expected<std::optional<uint32_t>> gid_;
  Channel channel_;
  std::atomic<bool> hung_{false};  ///< whether the daemon last did not answer in time
  Counts counts_;
};

/// One step of a caller. Its end, or the destructor, gives up the right to make it. For one thread
/// at a time. It may outlive the handle of its steps.
class OpenStep {
 public:
  OpenStep(std::shared_ptr<NamespaceSteps> steps, std::string digest, Flights::Seat seat,
           bool replace);
  ~OpenStep() { GiveUp(false); }
  OpenStep(const OpenStep&) = delete;
  OpenStep& operator=(const OpenStep&) = delete;

  /// Returns the value, or null.
  [[nodiscard]] const StepValue* value() const { return value_.get(); }
  [[nodiscard]] bool held() const { return lease_ != nullptr && lease_->held(); }
  void Put(std::string_view value);
  void GiveUp(bool failed);

 private:
  friend class NamespaceSteps;

  void SetFound(std::shared_ptr<const StepValue> value);
  /// Waits for the value or for the right to make it. Returns false if another thread has found the
  /// value that this caller wants to replace: the caller must enter again.
  bool Open();
  /// Ends the right to make the value, and the waits of other threads. Returns the lease if there
  /// is one.
  std::unique_ptr<HeldLease> End(std::shared_ptr<const StepValue> made, bool found);

  const std::shared_ptr<NamespaceSteps> steps_;
  const std::string digest_;
  const Flights::Seat seat_;
  const bool replace_;
  bool over_ = false;
  std::unique_ptr<HeldLease> lease_;
  std::shared_ptr<const StepValue> value_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace cccl_cache
