// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

namespace cccl_cache::daemon {

/// Whether a forked process was refused memory, in a page that it shares with its parent: so it can
/// be known after the process has died. Used by the parent, which has one thread.
class RefusedMemory {
 public:
  /// Of no process: nothing is ever noted.
  RefusedMemory() = default;
  /// Before the fork. Where no page can be had, nothing is ever noted.
  [[nodiscard]] static RefusedMemory OfNextFork();
  /// After the fork: children that are forked later do not see this page.
  void HideFromOthers();
  /// Once the process is dead.
  [[nodiscard]] bool noted() const;

  /// In a process that was forked after this page was made, and in none forked later: this process
  /// asked for memory and did not get it. From any thread; makes no system call.
  static void Note();

 private:
  struct Unmap {
    void operator()(std::atomic<bool>* page) const;
  };
  std::unique_ptr<std::atomic<bool>, Unmap> page_;
};

}  // namespace cccl_cache::daemon
