// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/system/blocking_pool.h"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/result.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{500};
// If this many threads are idle, a further idle thread ends at once.
constexpr size_t kMaxIdleThreads = 4;

}  // namespace

/// The state that BlockingPool shares with its threads. It exists until the last of them has ended.
class BlockingPool::State {
  using Clock = std::chrono::steady_clock;

 public:
  explicit State(const Bounds& bounds) : bounds_(bounds) {}

  [[nodiscard]] const char* name() const { return bounds_.name; }
  [[nodiscard]] std::string_view awaited() const { return bounds_.awaited; }

  struct Task;
  using TaskPtr = std::shared_ptr<Task>;
  using ByDeadline = std::multimap<Clock::time_point, TaskPtr>;
  struct Task {
    Account account;
    // Used only by the thread that runs it. Destroyed right after the run, because it may hold
    // files open.
    std::function<void()> look;
    std::function<void()> then;  // guarded by mutex_, like all members below
    std::function<void()> late;
    std::function<void()> after_late;
    bool begun = false;  // `look` is running
    bool hangs = false;
    bool over = false;                // `then` or `late` was called, or the task was dropped
    ByDeadline::iterator place = {};  // in by_deadline_; valid unless `over`
  };

  struct Added {
    TaskPtr task;
    bool needs_thread = false;  ///< the caller must start a thread for this account, because no
                                ///< thread is idle
    bool wakes_idle = false;    ///< the caller must call WakeIdleThread
  };
  Result<Added> Add(Account account, Look look) {
    const MutexLock lock(mutex_);
    if (closed_) return Stopping();
    User& user = users_[account];
    const Allowance allowance{bounds_.threads_per_uid, bounds_.threads};
    const bool more = user.threads < allowance.Most(account, user.threads, threads_);
    if (!more && (user.Hangs() || user.waiting.size() >= bounds_.waiting_per_uid)) {
      if (user.threads == 0) users_.erase(account);
      return Error{ErrorCode::kOverloaded,
                   fmt::format("too many requests of {} wait for {}: does it hang?", account.Name(),
                               bounds_.awaited),
                   kRetryAfter};
    }
    const auto task =
        std::make_shared<Task>(Task{account, std::move(look.look), std::move(look.then),
                                    std::move(look.late), std::move(look.after_late)});
    user.waiting.push_back(task);
    task->place = by_deadline_.emplace(Clock::now() + bounds_.time, task);
    if (IsEarlier()) changed_.NotifyAll();
    if (!more) return Added{task};
    ++user.threads;
    threads_.Add(account, 1);
    if (wanted_.size() == idle_threads_) return Added{.task = task, .needs_thread = true};
    wanted_.push_back(account);
    return Added{.task = task, .wakes_idle = true};
  }
  /// Wakes an idle thread, which takes the lock first. So the caller must not hold the lock.
  void WakeIdleThread() { work_.NotifyOne(); }

  /// Records that the system could not start a thread for this account. If the account has no other
  /// thread, drops the task and returns false. The deadlines of all other waiting tasks of the
  /// account then end at once.
  bool GoWithoutThread(Account account, const TaskPtr& task) {
    const MutexLock lock(mutex_);
    User& user = users_.at(account);
    threads_.Remove(account, 1);
    if (--user.threads > 0) return true;
    if (!std::exchange(task->over, true)) by_deadline_.erase(task->place);
    EndWaiting(user);
    users_.erase(account);
    return false;
  }

  /// Returns the next task of this account, or null if there is none. After null, the calling
  /// thread no longer counts for the account.
  TaskPtr Next(Account account) {
    const MutexLock lock(mutex_);
    User& user = users_.at(account);
    while (!closed_ && !user.waiting.empty()) {
      TaskPtr task = std::move(user.waiting.front());
      user.waiting.pop_front();
      if (task->over) continue;
      task->begun = true;
      ++looking_;
      if (bounds_.look_time) EndBy(task, Clock::now() + *bounds_.look_time);
      return task;
    }
    threads_.Remove(account, 1);
    if (--user.threads == 0) users_.erase(account);
    return nullptr;
  }

  /// Waits until an account needs a thread, but at most Bounds::idle_time. Returns the account, or
  /// none if the calling thread must end. The thread counts for no account while it waits.
  std::optional<Account> AwaitAccount() {
    const MutexLock lock(mutex_);
    if (closed_ || idle_threads_ == kMaxIdleThreads) return std::nullopt;
    ++idle_threads_;
    work_.WaitFor(mutex_, bounds_.idle_time,
                  [this]() REQUIRES(mutex_) { return closed_ || !wanted_.empty(); });
    --idle_threads_;
    if (wanted_.empty()) return std::nullopt;
    const Account account = wanted_.front();
    wanted_.pop_front();
    return account;
  }

  /// Records that the task's look has returned and was destroyed.
  void LookEnded(const TaskPtr& task) {
    const MutexLock lock(mutex_);
    task->begun = false;
    if (task->hangs) --users_.at(task->account).hanging;
    if (--looking_ == 0) idle_.NotifyAll();
  }

  /// Calls the task's next callback. `late` is true if the task's time has ended, and false if its
  /// look has ended. The first Finish of a task thus calls the callback `late` or `then`. If it was
  /// `late`, the Finish at the end of the look calls `after_late`. After Close nothing is called.
  void Finish(const TaskPtr& task, bool late) {
    std::function<void()> next;
    Look dropped;
    {
      const MutexLock lock(mutex_);
      if (closed_) return;
      if (!std::exchange(task->over, true)) {
        next = std::move(late ? task->late : task->then);
        std::swap(dropped.late, late ? task->then : task->late);
        by_deadline_.erase(task->place);
        if (late && task->begun && task->after_late) {
          late_.insert(task);
        } else {
          dropped.after_late = std::move(task->after_late);
        }
      } else if (!late && late_.erase(task) > 0) {
        next = std::move(task->after_late);
      } else {
        return;
      }
      ++running_;
    }
    next();
    next = nullptr;
    dropped = {};
    const MutexLock lock(mutex_);
    if (--running_ == 0) idle_.NotifyAll();
  }

  void WatchDeadlines(const std::stop_token& stop) {
    MutexLock lock(mutex_);
    const auto is_earlier = [this]() REQUIRES(mutex_) { return IsEarlier(); };
    while (!stop.stop_requested()) {
      if (by_deadline_.empty()) {
        watched_until_ = Clock::time_point::max();
        changed_.Wait(mutex_, stop, is_earlier);
        continue;
      }
      const Clock::time_point deadline = by_deadline_.begin()->first;
      if (Clock::now() < deadline) {
        watched_until_ = deadline;
        changed_.WaitUntil(mutex_, stop, deadline, is_earlier);
        continue;
      }
      const TaskPtr next = by_deadline_.begin()->second;
      NoteHanging(next);
      lock.Unlock();
      Finish(next, true);
      lock.Lock();
    }
  }

  void Close() {
    std::map<Account, User> dropped;
    std::vector<std::function<void()>> unwanted;
    const MutexLock lock(mutex_);
    closed_ = true;
    work_.NotifyAll();
    for (auto& [account, user] : users_) dropped[account].waiting.swap(user.waiting);
    for (const auto& [deadline, task] : by_deadline_) {
      task->over = true;
      unwanted.push_back(std::move(task->then));
      unwanted.push_back(std::move(task->late));
      unwanted.push_back(std::move(task->after_late));
    }
    for (const TaskPtr& task : late_) unwanted.push_back(std::move(task->after_late));
    by_deadline_.clear();
    late_.clear();
    idle_.Wait(mutex_, [this]() REQUIRES(mutex_) {
      return running_ == 0 && (looking_ == 0 || !bounds_.close_awaits_looks);
    });
  }

 private:
  struct User {
    std::deque<TaskPtr> waiting;
    size_t threads = 0;
    size_t hanging = 0;  // number of hanging threads
    /// Returns whether all threads hang, so that no waiting task will run.
    [[nodiscard]] bool Hangs() const { return hanging == threads; }
  };

  void EndBy(const TaskPtr& task, Clock::time_point deadline) REQUIRES(mutex_) {
    if (task->place->first <= deadline) return;
    by_deadline_.erase(task->place);
    task->place = by_deadline_.emplace(deadline, task);
    if (IsEarlier()) changed_.NotifyAll();
  }
  /// Returns whether a deadline precedes the time at which the deadline thread will wake. A task
  /// that ends in time, as nearly all do, does not wake that thread, because this would cost more
  /// than the task.
  [[nodiscard]] bool IsEarlier() const REQUIRES(mutex_) {
    return !by_deadline_.empty() && by_deadline_.begin()->first < watched_until_;
  }
  void EndWaiting(const User& user) REQUIRES(mutex_) {
    for (const TaskPtr& task : user.waiting) {
      if (!task->over) EndBy(task, Clock::now());
    }
  }
  void NoteHanging(const TaskPtr& task) REQUIRES(mutex_) {
    if (!bounds_.look_time || !task->begun) return;
    task->hangs = true;
    User& user = users_.at(task->account);
    ++user.hanging;
    if (user.Hangs()) EndWaiting(user);
  }

  const Bounds bounds_;
  Mutex mutex_;
  CondVar idle_;
  CondVar changed_;
  CondVar work_;  // notified when wanted_ gets an account, and by Close
  bool closed_ GUARDED_BY(mutex_) = false;
  size_t running_ GUARDED_BY(mutex_) = 0;  // running calls of a `then`, `late` or `after_late`
  size_t looking_ GUARDED_BY(mutex_) = 0;  // running calls of a look
  HeldInAll threads_ GUARDED_BY(mutex_);
  std::map<Account, User> users_ GUARDED_BY(mutex_);  // users that have threads
  size_t idle_threads_ GUARDED_BY(mutex_) = 0;
  // Accounts that need a thread, one entry for each thread. Idle threads take them, so there are
  // never more entries than idle threads.
  std::deque<Account> wanted_ GUARDED_BY(mutex_);
  ByDeadline by_deadline_ GUARDED_BY(mutex_);
  Clock::time_point watched_until_ GUARDED_BY(mutex_) = Clock::time_point::max();
  std::set<TaskPtr> late_ GUARDED_BY(mutex_);  // tasks whose `late` was called, whose look still
                                               // runs, and that have an `after_late`
};

BlockingPool::BlockingPool(const Bounds& bounds)
    : state_(std::make_shared<State>(bounds)),
      clock_([state = state_.get()](const std::stop_token& stop) {
        NameThread("deadlines");
        state->WatchDeadlines(stop);
      }) {}

void BlockingPool::Close() { state_->Close(); }

void BlockingPool::Serve(State& state, Account account) {
  NameThread(state.name());
  std::optional<Account> served = account;
  for (; served; served = state.AwaitAccount()) {
    while (const State::TaskPtr task = state.Next(*served)) {
      task->look();
      task->look = nullptr;
      state.LookEnded(task);
      state.Finish(task, false);
    }
  }
}

Status BlockingPool::Add(Account account, Look look) {
  const auto added = state_->Add(account, std::move(look));
  if (!added) return added.error();
  if (added->wakes_idle) state_->WakeIdleThread();
  if (added->needs_thread) {
    try {
      // The thread is detached, because a look that hangs must not keep the daemon from ending.
      std::thread([state = state_, account] { Serve(*state, account); }).detach();
    } catch (const std::system_error& error) {
      if (state_->GoWithoutThread(account, added->task)) return Ok{};
      return Error{ErrorCode::kOverloaded,
                   fmt::format("the daemon can't start a thread to wait for {}: {}",
                               state_->awaited(), error.what()),
                   kRetryAfter};
    }
  }
  return Ok{};
}

Error DiskHangs(std::chrono::milliseconds limit) {
  return Error{
      ErrorCode::kTimedOut,
      fmt::format("the daemon's disk did not answer within {} s: does the file system hang "
                  "that its state directory lies on?",
                  std::chrono::ceil<std::chrono::seconds>(limit).count())};
}

}  // namespace cccl_cache::daemon
