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

/// Threads for calls that may hang: looks at requesters' files, reads of the daemon's own disk.
/// Each user has a few threads, so that a mount that hangs delays no other user. Threads start when
/// there is work. Without work a few of them wait for the next look, of any user, and then end.
/// Thread-safe.
class BlockingPool {
 public:
  struct Bounds {
    const char* name = "files";                    ///< of the threads
    std::string_view awaited = "the file system";  ///< what may hang; named in refusals
    size_t threads_per_uid = 2;
    size_t waiting_per_uid = 4096;
    size_t threads = 256;                     ///< for all users
    std::chrono::milliseconds time{120'000};  ///< from Add to the look's end
    /// From the beginning of a look to its end. A look that takes longer is late, and counts as
    /// hanging. While all looks of a user that may run at one time hang, its waiting looks are late
    /// too, and Add refuses more. None: no such limit.
    std::optional<std::chrono::milliseconds> look_time = std::nullopt;
    /// How long a thread without work waits for more: programs build in bursts.
    std::chrono::milliseconds idle_time{1'000};
    bool close_awaits_looks = false;  ///< looks use objects that are destroyed after Close
  };
  struct Look {
    /// May hang for ever. It may use only objects that it owns, or, if Close waits for looks,
    /// objects that outlive Close.
    std::function<void()> look;
    std::function<void()> then;  ///< called once `look` has ended, on the same thread
    std::function<void()> late;  ///< called instead if the time is up first; on another thread
    /// May be empty. Called if `look` was running when it was late, once it has ended, on the same
    /// thread; `late` may still run then. Destroyed at once if it is not to be called.
    std::function<void()> after_late = {};
  };

  explicit BlockingPool(const Bounds& bounds);
  ~BlockingPool() { Close(); }
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  /// Runs the look on a thread of this account. Returns kOverloaded, and calls nothing, if too many
  /// looks wait, if others have taken all threads, or if this user's threads hang. Both `then` and
  /// `late` are destroyed once either has been called, and by Close, however long the look hangs.
  Status Add(Account account, Look look);

  /// Drops all looks that wait or hang: nothing follows them. Returns when no `then`, `late` or
  /// `after_late` runs (nor a look, if close_awaits_looks), and all of them are destroyed. From now
  /// on Add returns kUnavailable.
  void Close();

 private:
  class State;
  static void Serve(State& state, Account account);
  const std::shared_ptr<State> state_;
  std::jthread clock_;  // last, so that it ends before the members it uses
};

/// For a pool that reads the daemon's own disk only. The store must be destroyed after Close. A
/// disk with that many reads at once is busy.
inline constexpr BlockingPool::Bounds kDiskReads{.name = "disk",
                                                 .awaited = "the daemon's disk",
                                                 .threads_per_uid = 4,
                                                 .close_awaits_looks = true};

/// Returns the error for a disk read that took longer than `limit`, or that waited behind such
/// reads of the same user.
[[nodiscard]] Error DiskHangs(std::chrono::milliseconds limit);

}  // namespace cccl_cache::daemon
