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

/// Threads for calls that may hang, called looks: reads of requesters' files and of the daemon's
/// own disk. Each user has a few threads, so that a hanging mount delays no other user. Threads
/// start when there is work. A few idle threads wait for the next look of any user, and then end.
/// Thread-safe.
class BlockingPool {
 public:
  struct Bounds {
    const char* name = "files";                    ///< prefix of the threads' names
    std::string_view awaited = "the file system";  ///< the part that may hang, for error messages
    size_t threads_per_uid = 2;
    size_t waiting_per_uid = 4096;
    size_t threads = 256;                     ///< for all users
    std::chrono::milliseconds time{120'000};  ///< from Add to the end of the look
    /// From the start of a look to its end. A look that takes longer is late and counts as hanging.
    /// If all running looks of a user hang, its waiting looks become late too, and Add refuses more
    /// looks. None for no limit.
    std::optional<std::chrono::milliseconds> look_time = std::nullopt;
    /// How long an idle thread waits for more work, because programs build in bursts.
    std::chrono::milliseconds idle_time{1'000};
    bool close_awaits_looks = false;  ///< whether looks use objects that are destroyed after Close
  };
  struct Look {
    /// May hang for ever. It may use only objects that it owns or, if Close waits for looks,
    /// objects that outlive Close.
    std::function<void()> look;
    std::function<void()> then;  ///< called after `look` has ended, on the same thread
    std::function<void()> late;  ///< called instead of `then` if the time ends first; on another
                                 ///< thread
    /// May be empty. Called after a late look has ended, on the same thread; `late` may still run
    /// then. Destroyed at once if it will not be called.
    std::function<void()> after_late = {};
  };

  explicit BlockingPool(const Bounds& bounds);
  ~BlockingPool() { Close(); }
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  /// Runs the look on a thread of this account. Returns kOverloaded, and calls nothing, if too many
  /// looks wait, if other users have all threads, or if this user's threads hang. `then` and `late`
  /// are destroyed after either was called, and by Close, even if the look still hangs.
  Status Add(Account account, Look look);

  /// Drops all waiting and hanging looks without a callback. Returns when no `then`, `late` or
  /// `after_late` runs (nor a look, if close_awaits_looks), and all of them are destroyed. Later
  /// calls of Add return kUnavailable.
  void Close();

 private:
  class State;
  static void Serve(State& state, Account account);
  const std::shared_ptr<State> state_;
  std::jthread clock_;  // last member, so that it ends before the members that it uses
};

/// Bounds of a pool that only reads the daemon's own disk. The store must be destroyed after Close.
/// A disk with that many reads at once is busy.
inline constexpr BlockingPool::Bounds kDiskReads{.name = "disk",
                                                 .awaited = "the daemon's disk",
                                                 .threads_per_uid = 4,
                                                 .close_awaits_looks = true};

/// Returns the error for a disk read that took longer than `limit`, or that waited for such a read
/// of the same user.
[[nodiscard]] Error DiskHangs(std::chrono::milliseconds limit);

}  // namespace cccl_cache::daemon
