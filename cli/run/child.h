// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <functional>
#include <string>

namespace cccl_cache::cli {

/// Blocks the signals of this process, so that they can be passed on to a program. Make it before
/// the first RunAsChild(). The signals stay blocked.
class HeldSignals {
 public:
  HeldSignals();

  /// Sets the mask and SIGCHLD as they were. For the child process.
  void Restore() const;
  [[nodiscard]] const sigset_t& set() const { return set_; }
  /// Returns a waiting signal that asks this process to end, or 0.
  [[nodiscard]] int EndRequest() const;

 private:
  sigset_t set_;
  sigset_t before_;
  void (*of_children_)(int);
};

/// Returns whether the signal asks a process to end: SIGINT, SIGTERM, SIGHUP or SIGQUIT.
[[nodiscard]] bool AsksToEnd(int signal);

/// Says that the program can't be started, for the reason in errno. Returns the exit code.
[[nodiscard]] int CannotStart(const std::string& program);

/// Returns the sum of the times in user mode and in the kernel.
[[nodiscard]] std::chrono::microseconds ProcessorTime(const rusage& usage);

/// How a program in a child process has ended.
struct ChildEnd {
  int status = 0;              ///< as from waitpid()
  bool started = true;         ///< whether the program has begun
  bool end_requested = false;  ///< whether a signal came that asks to end
  std::chrono::microseconds wall_time{0};
  std::chrono::microseconds processor_time{
      0};  ///< of the program and of the processes it waited for
};

/// Runs a program in a child process and forwards signals to it. `start` replaces the child by the
/// program, or returns an exit code.
[[nodiscard]] ChildEnd RunAsChild(const HeldSignals& signals, const std::function<int()>& start);

/// If a signal has ended the program, ends this process by the same signal, so that its parent sees
/// the same as without `run`. Otherwise returns the program's exit code. Returns the shells' exit
/// code for the signal if the signal has no effect, as on the first process of a container.
/// `status` is from waitpid().
[[nodiscard]] int EndAs(int status);

}  // namespace cccl_cache::cli
