// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

// Clang checks these attributes with -Wthread-safety:
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html. For other compilers the macros are empty.
#if defined(__clang__)
#define CCCL_CACHE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define CCCL_CACHE_THREAD_ATTRIBUTE(x)
#endif
// Abseil, which gRPC includes, has macros with these names and the same meaning.
#undef GUARDED_BY
#undef PT_GUARDED_BY
#undef NO_THREAD_SAFETY_ANALYSIS
/// The member is read and written only with the mutex locked.
#define GUARDED_BY(mutex) CCCL_CACHE_THREAD_ATTRIBUTE(guarded_by(mutex))
/// The object that the member points to is read and written only with the mutex locked.
#define PT_GUARDED_BY(mutex) CCCL_CACHE_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
/// The caller of the function must have locked the mutex. On a lambda, the macro follows the
/// parameters.
#define REQUIRES(...) CCCL_CACHE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// The function locks the mutex itself. The caller must not have locked it.
#define EXCLUDES(...) CCCL_CACHE_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
/// Clang does not check the function. A comment at the function says why it is safe.
#define NO_THREAD_SAFETY_ANALYSIS CCCL_CACHE_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace cccl_cache {

/// A std::mutex that Clang's thread safety analysis knows. It does not know the one of libstdc++.
class CCCL_CACHE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // std::condition_variable_any, on which CondVar is based, calls these names.
  void lock() CCCL_CACHE_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() CCCL_CACHE_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() CCCL_CACHE_THREAD_ATTRIBUTE(try_acquire_capability(true)) {
    return mutex_.try_lock();
  }

 private:
  std::mutex mutex_;
};

/// Holds a mutex until the end of its scope or Unlock().
class CCCL_CACHE_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) CCCL_CACHE_THREAD_ATTRIBUTE(acquire_capability(mutex))
      : lock_(mutex) {}
  /// Takes over a mutex that the caller has locked, for example with try_lock().
  MutexLock(Mutex& mutex, std::adopt_lock_t adopt) REQUIRES(mutex) : lock_(mutex, adopt) {}
  ~MutexLock() CCCL_CACHE_THREAD_ATTRIBUTE(release_capability()) = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Lock() CCCL_CACHE_THREAD_ATTRIBUTE(acquire_capability()) { lock_.lock(); }
  void Unlock() CCCL_CACHE_THREAD_ATTRIBUTE(release_capability()) { lock_.unlock(); }

 private:
  std::unique_lock<Mutex> lock_;
};

/// A condition variable for Mutex. A condition is a function that returns bool. It is called with
/// the mutex locked, so as a lambda it has the form `[this]() REQUIRES(mutex_) { ... }`. While a
/// wait sleeps, the mutex is unlocked. Each wait returns the last result of the condition.
class CondVar {
 public:
  void NotifyOne() { changed_.notify_one(); }
  void NotifyAll() { changed_.notify_all(); }

  template <typename Condition>
  void Wait(Mutex& mutex, Condition condition) REQUIRES(mutex) {
    changed_.wait(mutex, std::move(condition));
  }
  template <typename Clock, typename Duration, typename Condition>
  bool WaitUntil(Mutex& mutex, std::chrono::time_point<Clock, Duration> deadline,
                 Condition condition) REQUIRES(mutex) {
    return changed_.wait_until(mutex, deadline, std::move(condition));
  }
  template <typename Rep, typename Period, typename Condition>
  bool WaitFor(Mutex& mutex, std::chrono::duration<Rep, Period> longest, Condition condition)
      REQUIRES(mutex) {
    return changed_.wait_for(mutex, longest, std::move(condition));
  }
  /// Like the functions above, but a stop request ends the wait too.
  template <typename Condition>
  bool Wait(Mutex& mutex, std::stop_token stop, Condition condition) REQUIRES(mutex) {
    return changed_.wait(mutex, std::move(stop), std::move(condition));
  }
  template <typename Clock, typename Duration, typename Condition>
  bool WaitUntil(Mutex& mutex, std::stop_token stop,
                 std::chrono::time_point<Clock, Duration> deadline, Condition condition)
      REQUIRES(mutex) {
    return changed_.wait_until(mutex, std::move(stop), deadline, std::move(condition));
  }
  template <typename Rep, typename Period, typename Condition>
  bool WaitFor(Mutex& mutex, std::stop_token stop, std::chrono::duration<Rep, Period> longest,
               Condition condition) REQUIRES(mutex) {
    return changed_.wait_for(mutex, std::move(stop), longest, std::move(condition));
  }

 private:
  std::condition_variable_any changed_;
};

}  // namespace cccl_cache
