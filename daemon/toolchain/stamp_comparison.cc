// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/stamp_comparison.h"

#include <utility>

namespace cccl_cache::daemon {

/// One comparison, and the callers that wait for it.
struct StampComparison::Round {
  /// Guarded by mutex_ while the round is next_; then of the thread that ends it.
  std::vector<std::function<void()>> waiting;
};

std::chrono::steady_clock::duration StampComparison::Age() const {
  return std::chrono::steady_clock::now() - compared_at_.load(std::memory_order_acquire);
}

StampComparison::Verdict StampComparison::Known() const {
  if (changed_.load(std::memory_order_acquire)) return Verdict::kChanged;
  if (hangs_.load(std::memory_order_acquire)) return Verdict::kHangs;
  return Age() < kCounts ? Verdict::kSame : Verdict::kExpired;
}

bool StampComparison::Due() const {
  if (Age() < kDue) return false;
  const std::lock_guard lock(mutex_);
  return next_ == nullptr;
}

bool StampComparison::Differ() {
  const bool differ = differ_();
  if (differ) changed_.store(true, std::memory_order_release);
  compared_at_.store(std::chrono::steady_clock::now(), std::memory_order_release);
  hangs_.store(false, std::memory_order_release);
  return differ;
}

void StampComparison::Forget(const std::shared_ptr<Round>& round) {
  const std::lock_guard lock(mutex_);
  if (next_ == round) next_ = nullptr;
}

void StampComparison::Begin(FileChecks& threads, uint64_t serial, std::function<void()> done) {
  std::shared_ptr<Round> round;
  {
    const std::lock_guard lock(mutex_);
    if (next_ != nullptr) return next_->waiting.push_back(std::move(done));
    next_ = round = std::make_shared<Round>();
    round->waiting.push_back(std::move(done));
  }
  const auto end = [this, self = shared_from_this(), round] {
    Forget(round);  // if it never began
    for (const auto& call : std::exchange(round->waiting, {})) call();
  };
  const Status added = threads.Add(Account(static_cast<uid_t>(serial)),
                                   {.look =
                                        [self = shared_from_this(), round] {
                                          self->Forget(round);
                                          self->Differ();
                                        },
                                    .then = end,
                                    .late =
                                        [this, end] {
                                          hangs_.store(true, std::memory_order_release);
                                          end();
                                        }});
  if (!added) end();
}

}  // namespace cccl_cache::daemon
