// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cccl_cache {

/// The value of a step in the form in which it is deposited. Python's cccl_cache.steps has the same
/// form, so that programs of both languages share values:
///
///     deposit = "CCCLPYB1" seal(32) microseconds of the build(8, little endian) value(to the end)
///     seal    = sha256(the step's digest in hexadecimal ‖ microseconds ‖ value)
class StepValue {
 public:
  /// `digest` is that of the step's fields, in hexadecimal.
  StepValue(std::string_view digest, std::chrono::microseconds took, std::string_view value);
  /// Returns none if the deposit is damaged or belongs to another step.
  static std::optional<StepValue> FromDeposit(std::string_view digest, std::string deposit);

  [[nodiscard]] const std::string& deposit() const { return deposit_; }
  [[nodiscard]] std::string_view value() const;
  [[nodiscard]] std::chrono::microseconds took() const { return took_; }

 private:
  StepValue(std::chrono::microseconds took, std::string deposit);

  std::chrono::microseconds took_;
  std::string deposit_;
};

}  // namespace cccl_cache
