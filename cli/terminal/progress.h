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

/// A progress line on standard error for commands that take longer than 1 s. Nothing is shown if
/// standard error is no terminal. The destructor removes the line. Not thread-safe.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { Write(""); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows this text in place of the line's old text, if this object is at least 1 s old. Control
  /// characters are made printable, and the text is cut to the terminal's width. An empty text
  /// clears the line.
  void Show(const std::string& text);
  [[nodiscard]] bool on_terminal() const { return on_terminal_; }

 private:
  void Write(const std::string& text);

  const bool on_terminal_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  size_t width_ = 0;  ///< number of columns of the text that is shown now
};

/// Shows the progress of a blocking call. A second thread asks for the progress twice a second.
class ProgressOfCall {
 public:
  /// `describe` returns the text to show. It runs on the second thread, for the first time after 1
  /// s, and may run until the destructor returns, which waits for it. It never runs if standard
  /// error is no terminal or the thread can't be started.
  explicit ProgressOfCall(std::function<std::string()> describe);

 private:
  ProgressLine line_;
  std::jthread thread_;  // must be the last member, because the thread uses line_
};

/// Describes the state of this process's build: it is compiled, or it waits for a compiler together
/// with other builds of the user `uid`. `flights` are the daemon's builds in progress. Returns ""
/// if none of them belongs to this process.
[[nodiscard]] std::string DescribeWait(std::span<const Flight> flights, uint32_t uid);

/// Returns a function for ProgressOfCall, which asks the daemon at the socket and describes the
/// wait. The client is opened at the first call and kept. The function returns `otherwise` if the
/// daemon has no build of this process, or does not answer within 0.2 s.
[[nodiscard]] std::function<std::string()> AsksForWait(std::string socket,
                                                       std::string otherwise = "");

}  // namespace cccl_cache::cli
