// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <thread>

#include "cli/daemon_answers.h"

namespace cccl_cache::cli {

/// A progress line on standard error for a command that takes longer than 1 s, if that is a
/// terminal. Removed with the object. Not thread-safe.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { Write(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Replaces the line by this text, made printable and cut to the terminal's width, if the command
  /// has run for 1 s. An empty text clears the line.
  void Show(const std::string& text);
  [[nodiscard]] bool on_terminal() const { return on_terminal_; }

 private:
  void Write(const std::string& text);

  const bool on_terminal_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  size_t width_ = 0;  ///< columns of the text on the screen
};

/// Shows the progress of a blocking call. Another thread asks for it twice a second.
class ProgressOfCall {
 public:
  /// `describe` runs on that thread, from 1 s after the start until the object is destroyed; the
  /// destructor waits for it. Without a terminal or a thread it never runs.
  explicit ProgressOfCall(std::function<std::string()> describe);

 private:
  ProgressLine line_;
  std::jthread thread_;  // last: it uses the line
};

/// Describes the state of this process's build from the daemon's list of flights: it waits for a
/// slot, like other builds of this user (`uid`), or is compiled. "" if no flight belongs to this
/// process.
[[nodiscard]] std::string DescribeWait(std::span<const Flight> flights, uint32_t uid);

/// Returns a function for ProgressOfCall that asks the daemon at the socket and describes the wait;
/// all calls use one client. It returns "" if the daemon does not answer in time.
[[nodiscard]] std::function<std::string()> AsksForWait(std::string socket);

}  // namespace cccl_cache::cli
