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

/// Runs functions that may hang (called looks) on threads of their own: reads of files that clients
/// name, and of the daemon's own disk. Each user has a few threads, so that a file system that
/// hangs delays no other user. Threads are started when there is work. A few idle threads wait for
/// the next look of any user for some time, and then end. Thread-safe.
class BlockingPool {
 public:
  struct Bounds {
    const char* name = "files";                    ///< name of the threads
    std::string_view awaited = "the file system";  ///< what may hang, for error messages
    size_t threads_per_uid = 2;
    size_t waiting_per_uid = 4096;
    size_t threads = 256;                     ///< maximum for all users together
    std::chrono::milliseconds time{120'000};  ///< maximum from Add to the end of the look
    /// Maximum time from the start of a look to its end. None for no limit. For a look that takes
    /// longer, `late` is called, and the look counts as hanging. If all running looks of a user
    /// hang, `late` is called for the waiting ones too, and Add refuses further looks of this user.
    std::optional<std::chrono::milliseconds> look_time = std::nullopt;
    /// How long an idle thread waits for more work before it ends. Programs often build in bursts.
    std::chrono::milliseconds idle_time{1'000};
    bool close_awaits_looks = false;  ///< whether Close waits for running looks, because they use
                                      ///< objects that are destroyed after Close
  };
  struct Look {
    /// The function that may hang, even for ever. It must own all objects that it uses. With
    /// close_awaits_looks, it may also use objects that outlive Close.
    std::function<void()> look;
    std::function<void()> then;  ///< called on the look's thread when it has ended in time
    std::function<void()> late;  ///< called instead of `then`, on another thread, if the time ends
                                 ///< before the look
    /// Called when a look has ended after its time, on the look's thread. `late` may still be
    /// running on another thread. May be empty. Destroyed at once if it will not be called.
    std::function<void()> after_late = {};
  };

  explicit BlockingPool(const Bounds& bounds);
  ~BlockingPool() { Close(); }
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  /// Runs the look on a thread of this account. Returns kOverloaded, and calls nothing, in four
  /// cases: too many looks of the account wait, other users have all threads, the account's threads
  /// hang, or no thread can be started. `then` and `late` are both destroyed after one of them was
  /// called, or by Close, even if the look still hangs.
  Status Add(Account account, Look look);

  /// Drops all waiting and running looks without calling their callbacks. Waits for calls of
  /// `then`, `late` and `after_late` that are in progress, and with close_awaits_looks also for
  /// running looks. After the return all callbacks are destroyed. Later calls of Add return
  /// kUnavailable.
  void Close();

 private:
  class State;
  static void Serve(State& state, Account account);
  const std::shared_ptr<State> state_;
  std::jthread clock_;  // last member, so that it ends before the members that it uses
};

/// Bounds of a pool for reads of the daemon's own disk. The store must exist until Close has
/// returned. Four reads of a user at once keep a disk busy.
inline constexpr BlockingPool::Bounds kDiskReads{.name = "disk",
                                                 .awaited = "the daemon's disk",
                                                 .threads_per_uid = 4,
                                                 .close_awaits_looks = true};

/// Returns the error for a disk read that took longer than `limit`, or that waited for such a read
/// of the same user.
[[nodiscard]] Error DiskHangs(std::chrono::milliseconds limit);

}  // namespace cccl_cache::daemon
