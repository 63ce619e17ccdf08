// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Threads for looking at requesters' files, or reading the daemon's own disk, which may hang: each
/// user has a few of its own, so that a mount that hangs holds up nobody else. They come when there
/// is work and go when there is none. Thread-safe.
class FileChecks {
 public:
  struct Bounds {
    std::string_view awaited = "the file system";  ///< what may hang: said to who is refused
    size_t threads_per_uid = 2;
    size_t waiting_per_uid = 4096;
    size_t threads = 256;                     ///< of all users
    std::chrono::milliseconds time{120'000};  ///< from Add to the look's end
    /// From a look's beginning to its end: one that takes longer is late, and hangs. While all
    /// looks of a user hang that may run at one time, what waits is late too, and no more is taken.
    std::optional<std::chrono::milliseconds> look_time = std::nullopt;
    bool close_awaits_looks = false;  ///< they use what goes after Close
  };
  struct Look {
    /// May hang for ever, so it may use only what it owns, or what goes after Close if that waits.
    std::function<void()> look;
    std::function<void()> then;  ///< once that has ended, on the same thread
    std::function<void()> late;  ///< instead, if its time is up before; on another thread
  };

  explicit FileChecks(const Bounds& bounds);
  ~FileChecks() { Close(); }
  FileChecks(const FileChecks&) = delete;
  FileChecks& operator=(const FileChecks&) = delete;

  /// Looks on a thread of this account. kOverloaded if too many wait, all threads are taken by
  /// others, or this user's hang: then nothing is called. What `then` and `late` hold is let go
  /// with either's call, and by Close, however long the look hangs.
  Status Add(Account account, Look look);

  /// Drops what waits, and what hangs: nothing follows it. Returns when no `then` or `late` runs
  /// (nor a look, if the bounds say so), and all of them are gone. From now on Add answers
  /// kUnavailable.
  void Close();

 private:
  class State;
  static void Serve(State& state, Account account);
  const std::shared_ptr<State> state_;
  std::jthread clock_;  // last: ends before what it uses
};

/// For FileChecks that read what is only on the daemon's own disk: the store must not go before
/// Close. A disk that is asked for so much at once is busy.
inline constexpr FileChecks::Bounds kDiskReads{
    .awaited = "the daemon's disk", .threads_per_uid = 4, .close_awaits_looks = true};

/// A read of the disk took longer than this, or stood behind such reads of the same user.
[[nodiscard]] Error DiskHangs(std::chrono::milliseconds limit);

}  // namespace cccl_cache::daemon
