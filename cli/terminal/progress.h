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

/// A line about a command that takes longer than a second: on standard error, if that is a
/// terminal, and only until the object ends. Not thread-safe.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { Write(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows the text, printable and no wider than the terminal, in place of the one before, once the
  /// command has taken long enough. An empty text clears the line.
  void Show(const std::string& text);
  [[nodiscard]] bool on_terminal() const { return on_terminal_; }

 private:
  void Write(const std::string& text);

  const bool on_terminal_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  size_t width_ = 0;  ///< of what is shown
};

/// Shows the progress of a blocking call; another thread asks for it twice a second.
class ProgressOfCall {
 public:
  /// `describe` runs on that thread, first after a second, until the object ends, which waits for
  /// it. Without a terminal or a thread it never runs.
  explicit ProgressOfCall(std::function<std::string()> describe);

 private:
  ProgressLine line_;
  std::jthread thread_;  // last: it uses the line
};

/// Describes the state of this process' build from the daemon's list of flights: it waits for a
/// slot, as other builds of this user (`uid`), or is compiled. Empty if no flight is of this
/// process.
[[nodiscard]] std::string DescribeWait(std::span<const Flight> flights, uint32_t uid);

/// Returns a function for ProgressOfCall that asks the daemon at the socket for that, with one
/// client for all calls. It returns an empty text if the daemon does not answer at once.
[[nodiscard]] std::function<std::string()> AsksForWait(std::string socket);

}  // namespace cccl_cache::cli
