// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cccl_cache/expected.h"
#include "cli/run/environment.h"

namespace cccl_cache::cli {

/// The program, places and settings for the start of a daemon.
struct DaemonStart {
  std::string program;  ///< path of cccl-cached
  std::string socket;   ///< path of its socket, for this user alone
  std::string log;      ///< path of a file that gets its output; its old lines are lost
  std::vector<std::string> flags = {};  ///< further flags
  Variables defaults = {};              ///< variables that it gets unless the environment has them
  bool bound = false;                   ///< whether the kernel kills it when this process ends
};

/// Returns the prefix of the Python environment in which the shell finds the program, or "" if it
/// is in none. The program probably loads the compilers of that environment.
[[nodiscard]] std::string PythonEnvironmentOf(const std::string& program);

/// Returns the path of the cccl-cached that is installed with this program: in the same directory,
/// in the Python package cccl_cache_daemon, or in the build tree.
[[nodiscard]] Expected<std::string> FindDaemon();

/// Returns the advice. If it says to start a daemon of one's own, and none is installed with this
/// program, adds how to install one.
[[nodiscard]] std::string AdviceHere(const std::string& advice);

/// A daemon that is a child process. It has a session of its own, and none of this process's
/// descriptors, stand-ins and variables of systemd. Not thread-safe.
class DaemonProcess {
 public:
  [[nodiscard]] static Expected<DaemonProcess> Start(const DaemonStart& start);
  DaemonProcess(DaemonProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), start_(std::move(other.start_)) {}
  DaemonProcess& operator=(DaemonProcess&&) = delete;
  /// Kills the daemon if it still runs.
  ~DaemonProcess();

  /// Waits until the daemon has read its toolchains, so that it serves the first compile of a
  /// program. At a terminal, a line says so. Fails if the daemon has ended, if `patience` is over,
  /// or soon after `stopped` returns true.
  [[nodiscard]] Expected<Done> AwaitReady(
      std::chrono::milliseconds patience,
      const std::function<bool()>& stopped = [] { return false; });
  /// Ends the daemon and waits for its end. Returns the processor time that it and its workers
  /// took.
  std::chrono::microseconds Stop();

 private:
  DaemonProcess(pid_t pid, DaemonStart start) : pid_(pid), start_(std::move(start)) {}

  std::chrono::microseconds End(int signal);

  pid_t pid_;  ///< 0 after its end
  DaemonStart start_;
};

}  // namespace cccl_cache::cli
