// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "cccl_cache/expected.h"
#include "cli/top/page.h"

namespace cccl_cache::cli::top {

/// The terminal of this process in full-screen mode. The destructor restores the normal mode. Only
/// one object may exist at a time, and only one thread may use it.
class Screen {
 public:
  static constexpr int kTimeout = -1;  ///< no key was pressed in time
  static constexpr int kEnd = -2;      ///< a signal ended the program, or the terminal was closed
  static constexpr int kUp = -3;
  static constexpr int kDown = -4;
  static constexpr int kErase = -5;
  static constexpr int kEscape = -6;
  static constexpr int kResized = -7;

  /// Starts the full-screen mode. Fails if standard input and output are not a terminal, or its
  /// type is unknown.
  [[nodiscard]] static Expected<std::unique_ptr<Screen>> Open(bool colour);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  [[nodiscard]] Size size() const;
  void Show(const std::vector<Line>& lines);
  /// Waits for a key for at most `patience`. Returns the typed byte, or one of the constants above.
  [[nodiscard]] int ReadKey(std::chrono::milliseconds patience);

 private:
  explicit Screen(FileDescriptor signals) : signals_(std::move(signals)) {}

  const FileDescriptor signals_;
  bool colour_ = false;
};

}  // namespace cccl_cache::cli::top
