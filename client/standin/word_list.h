// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cccl_cache::standin {

/// Returns whether a list of words, with a space before and after each, has the word.
[[nodiscard]] inline bool Has(std::string_view words, std::string_view word) {
  return !word.empty() && word.find(' ') == std::string_view::npos &&
         words.find(" " + std::string(word) + " ") != std::string_view::npos;
}

}  // namespace cccl_cache::standin
