// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/file_checks.h"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace cccl_cached {
namespace {

constexpr std::chrono::milliseconds kRetryAfter{500};

}  // namespace

/// What the threads share with their owner, and keep when it goes.
class FileChecks::State {
 public:
  explicit State(const Bounds& bounds) : bounds_(bounds) {}

  /// True: the caller is to start a thread for this uid.
  Result<bool> Add(uid_t uid, Check check) {
    const std::lock_guard lock(mutex_);
    User& user = users_[uid];
    const bool more = user.threads < bounds_.threads_per_uid && threads_ < bounds_.threads;
    if (!more && (user.threads == 0 || user.waiting.size() >= bounds_.waiting_per_uid)) {
      if (user.threads == 0) users_.erase(uid);
      return Error{ErrorCode::kOverloaded,
                   fmt::format("too many builds of uid {} wait for the file system; come back "
                               "later, or see whether a mount hangs",
                               uid),
                   kRetryAfter};
    }
    user.waiting.push_back(std::move(check));
    if (!more) return false;
    ++user.threads;
    ++threads_;
    return true;
  }

  /// None: nothing waits, the thread ends.
  std::optional<Check> Next(uid_t uid) {
    const std::lock_guard lock(mutex_);
    User& user = users_.at(uid);
    if (!closed_ && !user.waiting.empty()) {
      Check check = std::move(user.waiting.front());
      user.waiting.pop_front();
      return check;
    }
    --threads_;
    if (--user.threads == 0) users_.erase(uid);
    return std::nullopt;
  }

  void Do(const Then& then) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      ++running_;
    }
    then();
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) idle_.notify_all();
  }

  void Close() {
    std::map<uid_t, User> dropped;
    std::unique_lock lock(mutex_);
    closed_ = true;
    for (auto& [uid, user] : users_) dropped[uid].waiting.swap(user.waiting);
    idle_.wait(lock, [this] { return running_ == 0; });
  }

 private:
  struct User {
    std::deque<Check> waiting;
    size_t threads = 0;
  };

  const Bounds bounds_;
  std::mutex mutex_;
  std::condition_variable idle_;
  bool closed_ = false;  // guarded by mutex_, as all below
  size_t running_ = 0;   // calls of a Then
  size_t threads_ = 0;
  std::map<uid_t, User> users_;  // those with threads
};

FileChecks::FileChecks(const Bounds& bounds) : state_(std::make_shared<State>(bounds)) {}

FileChecks::~FileChecks() { state_->Close(); }

Status FileChecks::Add(uid_t uid, Check check) {
  const Result<bool> starts = state_->Add(uid, std::move(check));
  if (!starts) return starts.error();
  if (*starts) {
    // Not joined: a thread that hangs must not keep the daemon from ending.
    std::thread([state = state_, uid] {
      while (const std::optional<Check> next = state->Next(uid)) {
        if (const Then then = (*next)()) state->Do(then);
      }
    }).detach();
  }
  return Ok{};
}

}  // namespace cccl_cached
