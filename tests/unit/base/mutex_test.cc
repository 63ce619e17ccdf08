// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/mutex.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>

namespace cccl_cache::mutex_test {
namespace {

/// A number that threads wait for.
class Number {
 public:
  void Set(int value) {
    const MutexLock lock(mutex_);
    value_ = value;
    changed_.NotifyAll();
  }
  void Await(int value) {
    const MutexLock lock(mutex_);
    changed_.Wait(mutex_, [&]() REQUIRES(mutex_) { return value_ == value; });
  }
  bool Await(int value, std::stop_token stop) {
    const MutexLock lock(mutex_);
    return changed_.Wait(mutex_, std::move(stop),
                         [&]() REQUIRES(mutex_) { return value_ == value; });
  }
  bool AwaitFor(int value, std::chrono::milliseconds longest) {
    const MutexLock lock(mutex_);
    return changed_.WaitFor(mutex_, longest, [&]() REQUIRES(mutex_) { return value_ == value; });
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int value_ GUARDED_BY(mutex_) = 0;
};

bool IsLocked(Mutex& mutex) {
  bool locked = true;
  std::thread([&] {
    if (!mutex.try_lock()) return;
    locked = false;
    mutex.unlock();
  }).join();
  return locked;
}

TEST_CASE("a lock holds its mutex until it is unlocked, or to the end of its scope") {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    CHECK(IsLocked(mutex));
    lock.Unlock();
    CHECK_FALSE(IsLocked(mutex));
    lock.Lock();
    CHECK(IsLocked(mutex));
  }
  CHECK_FALSE(IsLocked(mutex));
}

TEST_CASE("a lock that took over a locked mutex unlocks it at the end") {
  Mutex mutex;
  mutex.lock();
  {
    const MutexLock lock(mutex, std::adopt_lock);
    CHECK(IsLocked(mutex));
  }
  CHECK_FALSE(IsLocked(mutex));
}

TEST_CASE("a waiter releases the mutex and continues once the condition is true") {
  Number number;
  std::thread setter([&] {
    number.Set(1);
    number.Await(2);
    number.Set(3);
  });
  number.Await(1);
  number.Set(2);
  number.Await(3);
  setter.join();
}

TEST_CASE("a stop request ends a wait, and the wait returns false") {
  Number number;
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  CHECK_FALSE(number.Await(1, stop.get_token()));
  stopper.join();
  number.Set(1);
  CHECK(number.Await(1, stop.get_token()));
}

TEST_CASE("a wait ends at its timeout, and returns whether the condition holds") {
  Number number;
  CHECK_FALSE(number.AwaitFor(1, std::chrono::milliseconds(1)));
  number.Set(1);
  CHECK(number.AwaitFor(1, std::chrono::milliseconds(0)));
}

}  // namespace
}  // namespace cccl_cache::mutex_test
