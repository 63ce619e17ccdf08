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
  std::vector<Installation> installations;    ///< in search order, without duplicates
  std::vector<RejectedToolchain> incomplete;  ///< incomplete installations, and empty named places
};

/// Searches all places. Reads only names of files, and the beginning of cuda_runtime_api.h for the
/// version of the headers. Does not check who can write the files. If an installation is found
/// under several paths, it is returned once, and the other paths become aliases of its header
/// directories.
[[nodiscard]] FoundInstallations FindInstallations(const SearchPlaces& places);

/// A shared library's file name and the numbers in it: {13} in "libnvrtc.so.13".
struct LibraryName {
  std::string file;
  std::vector<int> numbers;  ///< numbers after ".so"; may be empty

  /// Parses a file name. Returns none unless it is `stem`, ".so", and then only numbers. Static
  /// libraries and .alt.so variants are thus excluded.
  static std::optional<LibraryName> Parse(std::string_view file, std::string_view stem);
};

/// Returns the libraries with this stem in a directory, sorted by the number of numbers in their
/// names. The soname thus precedes the full name.
[[nodiscard]] std::vector<LibraryName> LibrariesIn(const std::string& directory,
                                                   std::string_view stem);

/// Returns why no toolchain was found in a place that the user named, with the remedy. Either the
/// place is missing, or this process may not enter or read it, or there is no toolchain in it.
[[nodiscard]] std::string WhyNothingFound(const std::string& place);

}  // namespace cccl_cache::daemon
