// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache::daemon {

/// A shared library's file name taken apart: "libnvrtc.so.13" is stem "libnvrtc", numbers {13}.
struct LibraryName {
  std::string file;
  std::vector<int> numbers;  ///< after ".so"; empty for a name that ends there

  /// Nothing unless `file` is `stem`.so followed by numbers only: static and .alt.so variants are
  /// not.
  static std::optional<LibraryName> Parse(std::string_view file, std::string_view stem);
};

/// The libraries of that stem in a directory, the shortest names first: the soname before the full
/// one.
[[nodiscard]] std::vector<LibraryName> LibrariesIn(const std::string& directory,
                                                   std::string_view stem);

}  // namespace cccl_cache::daemon
