// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/reservations.h"

#include <algorithm>

namespace cccl_cache::daemon {

void HeldReservations::Add(Reservation* reservation) {
  all_.emplace(reservation->item_, reservation);
  ++of_[reservation->account_];
}

bool HeldReservations::End(Reservation* reservation) {
  reservation->memory_ = nullptr;
  all_.erase(reservation->item_);
  const auto held = of_.find(reservation->account_);
  if (--held->second > 0) return false;
  of_.erase(held);
  return true;
}

size_t HeldReservations::FreeLongHeld(Clock::duration most,
                                      const std::function<bool(Account)>& others_lack,
                                      Clock::time_point* next) {
  const Clock::time_point now = Clock::now();
  size_t freed = 0;
  for (const auto& [item, reservation] : all_) {
    if (reservation->memory_ == nullptr || !others_lack(reservation->account_)) continue;
    const auto due = reservation->since_ + most;
    if (due > now) {
      *next = std::min(*next, due);
    } else {
      reservation->memory_ = nullptr;
      ++freed;
    }
  }
  return freed;
}

}  // namespace cccl_cache::daemon
