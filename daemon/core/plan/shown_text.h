// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "daemon/core/model/artifact.h"

namespace cccl_cache::daemon {

/// A text that may stand in what a compiler made, as it is or as PTX writes string constants.
/// Immutable.
class ShownText {
 public:
  explicit ShownText(std::string_view text);

  /// In a cubin or PTX. (LTO-IR and OptiX-IR hold the compiler's names always, without meaning.)
  [[nodiscard]] bool In(const Artifact& artifact) const;
  /// In a string constant of PTX, which holds its numbers.
  [[nodiscard]] bool InStrings(const Artifact& artifact) const;

 private:
  const std::string text_;
  const std::string numbers_;
  const std::string dense_numbers_;
};

}  // namespace cccl_cache::daemon
