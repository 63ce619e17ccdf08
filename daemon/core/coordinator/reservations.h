// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "daemon/core/model/account.h"
#include "daemon/core/run/compile_memory.h"

namespace cccl_cache::daemon {

/// Memory that is reserved for a run of a tool outside of the daemon. The destructor frees it. Must
/// be destroyed before the queue that granted it. Thread-safe.
class Reservation {
 public:
  using Clock = std::chrono::steady_clock;

  /// The destructor calls `end`, which must call HeldReservations::End.
  Reservation(uint64_t item, Account account, CompileMemory::RunningPtr memory,
              std::function<void(Reservation*)> end)
      : item_(item), account_(account), end_(std::move(end)), memory_(std::move(memory)) {}
  ~Reservation() { end_(this); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  [[nodiscard]] Account account() const { return account_; }

 private:
  friend class HeldReservations;

  const uint64_t item_;
  const Account account_;
  const Clock::time_point since_ = Clock::now();
  const std::function<void(Reservation*)> end_;
  CompileMemory::RunningPtr memory_;  ///< used with the mutex of the queue; null when it counts no
                                      ///< more
};

/// Gets the reservation, or null if the queue grants none any more.
using Reserved = std::function<void(std::unique_ptr<Reservation>)>;

/// The reservations that a queue has granted. Not thread-safe.
class HeldReservations {
 public:
  using Clock = Reservation::Clock;

  /// Adds a reservation. It must not be destroyed before that.
  void Add(Reservation* reservation);
  /// Frees the memory of a reservation that ends. Returns whether it was its account's last one.
  bool End(Reservation* reservation);
  [[nodiscard]] bool HasOf(Account account) const { return of_.contains(account); }
  /// Frees the memory of reservations that are held for `most`, as far as other accounts lack
  /// memory. Returns their number. If one will be held for so long later, lowers `*next` to that
  /// time.
  size_t FreeLongHeld(Clock::duration most, const std::function<bool(Account)>& others_lack,
                      Clock::time_point* next);

 private:
  std::map<uint64_t, Reservation*> all_;  ///< by item, oldest first
  std::map<Account, size_t> of_;          ///< their numbers; accounts without one have no entry
};

}  // namespace cccl_cache::daemon
