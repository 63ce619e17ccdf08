// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/support/fake_toolchain/control.h"

namespace fake_toolchain {

/// A private copy of a fake toolkit, and its control memory. The destructor removes the copy.
/// Thread-safe.
class FakeToolkit {
 public:
  /// Copies a toolkit; `major` is 12 or 13. Returns null if that fails.
  static std::unique_ptr<FakeToolkit> Copy(int major);
  ~FakeToolkit();
  FakeToolkit(const FakeToolkit&) = delete;
  FakeToolkit& operator=(const FakeToolkit&) = delete;

  /// Returns the absolute path of the copy: lib/, include/, nvvm/.
  [[nodiscard]] const std::string& root() const { return root_; }

  /// Opens the gate for all present and future waiters.
  void Open(const std::string& gate);
  /// Waits until a total of `count` compiles have come to the gate. Returns false after a time
  /// limit.
  [[nodiscard]] bool WaitForArrivals(const std::string& gate, uint32_t count,
                                     std::chrono::seconds deadline = std::chrono::seconds(60));

  [[nodiscard]] uint32_t loads() const { return control_->loads.load(); }
  [[nodiscard]] uint32_t nvrtc_compiles() const { return control_->nvrtc_compiles.load(); }
  [[nodiscard]] uint32_t links() const { return control_->links.load(); }
  [[nodiscard]] uint32_t nvvm_compiles() const { return control_->nvvm_compiles.load(); }

 private:
  FakeToolkit(std::string root, Control* control) : root_(std::move(root)), control_(control) {}

  const std::string root_;
  Control* const control_;
};

}  // namespace fake_toolchain
