// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/file_checks.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/core/stopping.h"

namespace cccl_cached {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{500};

}  // namespace

/// What the threads share with their owner, and keep when it goes.
class FileChecks::State {
 public:
  explicit State(const Bounds& bounds) : bounds_(bounds) {}

  [[nodiscard]] std::string_view awaited() const { return bounds_.awaited; }

  struct Task {
    std::function<void()> look;  // of the thread that runs it, until then: it holds files open
    std::function<void()> then;  // guarded by mutex_, as all below
    std::function<void()> late;
    std::chrono::steady_clock::time_point deadline;
    bool over = false;                                      // answered, one way or the other
    std::list<std::shared_ptr<Task>>::iterator place = {};  // in by_deadline_, unless over
  };
  using TaskPtr = std::shared_ptr<Task>;

  struct Added {
    TaskPtr task;
    bool needs_thread;  ///< the caller is to start one for this uid
  };
  Result<Added> Add(uid_t uid, Look look) {
    const std::lock_guard lock(mutex_);
    if (closed_) return Stopping();
    User& user = users_[uid];
    const bool more = user.threads < bounds_.threads_per_uid && threads_ < bounds_.threads;
    if (!more && (user.threads == 0 || user.waiting.size() >= bounds_.waiting_per_uid)) {
      if (user.threads == 0) users_.erase(uid);
      return Error{ErrorCode::kOverloaded,
                   fmt::format("too many requests of uid {} wait for {}; come back later, or see "
                               "whether it hangs",
                               uid, bounds_.awaited),
                   kRetryAfter};
    }
    const auto task = std::make_shared<Task>(Task{std::move(look.look), std::move(look.then),
                                                  std::move(look.late),
                                                  std::chrono::steady_clock::now() + bounds_.time});
    user.waiting.push_back(task);
    task->place = by_deadline_.insert(by_deadline_.end(), task);
    if (by_deadline_.size() == 1) changed_.notify_all();
    if (more) {
      ++user.threads;
      ++threads_;
    }
    return Added{task, more};
  }

  /// The thread for this uid could not be started. False: the task is dropped, for the uid has
  /// none. What was added meanwhile in the hope for that thread is late at once.
  bool GoWithoutThread(uid_t uid, const TaskPtr& task) {
    const std::lock_guard lock(mutex_);
    User& user = users_.at(uid);
    --threads_;
    if (--user.threads > 0) return true;
    if (!std::exchange(task->over, true)) by_deadline_.erase(task->place);
    for (const TaskPtr& other : user.waiting) {
      if (other->over) continue;
      other->deadline = std::chrono::steady_clock::now();
      by_deadline_.splice(by_deadline_.begin(), by_deadline_, other->place);
    }
    changed_.notify_all();
    users_.erase(uid);
    return false;
  }

  /// Null: nothing waits, the thread ends.
  TaskPtr Next(uid_t uid) {
    const std::lock_guard lock(mutex_);
    User& user = users_.at(uid);
    while (!closed_ && !user.waiting.empty()) {
      TaskPtr task = std::move(user.waiting.front());
      user.waiting.pop_front();
      if (!task->over) return task;
    }
    --threads_;
    if (--user.threads == 0) users_.erase(uid);
    return nullptr;
  }

  /// Unless the task is over already, or everything is.
  void Finish(const TaskPtr& task, bool late) {
    std::function<void()> next;
    std::function<void()> dropped;
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || std::exchange(task->over, true)) return;
      next = std::move(late ? task->late : task->then);
      dropped = std::move(late ? task->then : task->late);
      by_deadline_.erase(task->place);
      ++running_;
    }
    next();
    next = nullptr;
    dropped = nullptr;
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) idle_.notify_all();
  }

  void WatchDeadlines(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !by_deadline_.empty(); })) {
      const TaskPtr next = by_deadline_.front();
      if (std::chrono::steady_clock::now() < next->deadline) {
        changed_.wait_until(lock, stop, next->deadline,
                            [&] { return by_deadline_.empty() || by_deadline_.front() != next; });
        if (stop.stop_requested()) return;
        continue;
      }
      lock.unlock();
      Finish(next, true);
      lock.lock();
    }
  }

  void Close() {
    std::map<uid_t, User> dropped;
    std::vector<std::function<void()>> unwanted;
    std::unique_lock lock(mutex_);
    closed_ = true;
    for (auto& [uid, user] : users_) dropped[uid].waiting.swap(user.waiting);
    for (const TaskPtr& task : by_deadline_) {
      task->over = true;
      unwanted.push_back(std::move(task->then));
      unwanted.push_back(std::move(task->late));
    }
    by_deadline_.clear();
    idle_.wait(lock, [this] { return running_ == 0; });
  }

 private:
  struct User {
    std::deque<TaskPtr> waiting;
    size_t threads = 0;
  };

  const Bounds bounds_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::condition_variable_any changed_;
  bool closed_ = false;  // guarded by mutex_, as all below
  size_t running_ = 0;   // calls of a then or a late
  size_t threads_ = 0;
  std::map<uid_t, User> users_;     // those with threads
  std::list<TaskPtr> by_deadline_;  // all have the same time, so also in the order of their coming
};

FileChecks::FileChecks(const Bounds& bounds)
    : state_(std::make_shared<State>(bounds)),
      clock_([state = state_.get()](const std::stop_token& stop) { state->WatchDeadlines(stop); }) {
}

void FileChecks::Close() { state_->Close(); }

void FileChecks::Serve(State& state, uid_t uid) {
  while (const State::TaskPtr task = state.Next(uid)) {
    task->look();
    task->look = nullptr;
    state.Finish(task, false);
  }
}

Status FileChecks::Add(uid_t uid, Look look) {
  const auto added = state_->Add(uid, std::move(look));
  if (!added) return added.error();
  if (added->needs_thread) {
    try {
      // Not joined: a thread that hangs must not keep the daemon from ending.
      std::thread([state = state_, uid] { Serve(*state, uid); }).detach();
    } catch (const std::system_error& error) {
      if (state_->GoWithoutThread(uid, added->task)) return Ok{};
      return Error{ErrorCode::kOverloaded,
                   fmt::format("the daemon can't start a thread to wait for {}: {}",
                               state_->awaited(), error.what()),
                   kRetryAfter};
    }
  }
  return Ok{};
}

}  // namespace cccl_cached
