// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/files/file_descriptor.h"
#include "cccl_cache/expected.h"
#include "cli/top/model.h"

namespace cccl_cache::cli::top {

/// The terminal of this process in full-screen mode. The destructor restores it. Only one object
/// may exist, used by one thread.
class Screen {
 public:
  static constexpr int kTimeout = -1;  ///< no key was pressed in time
  static constexpr int kEnd = -2;      ///< the user or a signal ends the program
  static constexpr int kUp = -3;
  static constexpr int kDown = -4;
  static constexpr int kErase = -5;
  static constexpr int kEscape = -6;
  static constexpr int kResized = -7;

  /// Returns an error if standard input and output are not a terminal of a known type.
  [[nodiscard]] static Expected<std::unique_ptr<Screen>> Open(bool colour);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  [[nodiscard]] Size size() const;
  void Show(const std::vector<Line>& lines);
  /// Returns the next typed byte, or one of the constants.
  [[nodiscard]] int ReadKey(std::chrono::milliseconds patience);

 private:
  explicit Screen(FileDescriptor signals) : signals_(std::move(signals)) {}

  const FileDescriptor signals_;
  bool colour_ = false;
};

}  // namespace cccl_cache::cli::top
