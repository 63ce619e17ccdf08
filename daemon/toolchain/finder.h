// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/toolchain.h"
#include "daemon/toolchain/installation.h"
#include "daemon/toolchain/layout.h"

namespace cccl_cache::daemon {

struct FoundInstallations {
  std::vector<Installation> installations;    ///< in search order, each once
  std::vector<RejectedToolchain> incomplete;  ///< unusable parts, and places without any
};

/// Searches all places. Reads only names, and the beginning of cuda_runtime_api.h for the version
/// of the headers. Does not check trust. An installation with two names is returned once, with the
/// other names as aliases of its header directories.
[[nodiscard]] FoundInstallations FindInstallations(const SearchPlaces& places);

/// The parts of a shared library's file name: "libnvrtc.so.13" is stem "libnvrtc", numbers {13}.
struct LibraryName {
  std::string file;
  std::vector<int> numbers;  ///< numbers after ".so"; may be empty

  /// Parses a file name; none unless it is `stem`.so followed by numbers only, which excludes
  /// static and .alt.so variants.
  static std::optional<LibraryName> Parse(std::string_view file, std::string_view stem);
};

/// Returns the libraries of that stem in a directory, the shortest names first: the soname comes
/// before the full name.
[[nodiscard]] std::vector<LibraryName> LibrariesIn(const std::string& directory,
                                                   std::string_view stem);

/// Returns why no toolchain was found in a place that the user named, with the remedy: it is
/// missing, this process may not enter or read it, or it holds none.
[[nodiscard]] std::string WhyNothingFound(const std::string& place);

}  // namespace cccl_cache::daemon
