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
  std::vector<RejectedToolchain> incomplete;  ///< parts that are of no use, or places without any
};

/// Goes through all places. Looks at names and, to tell whose headers they are, at the beginning of
/// cuda_runtime_api.h; trusts nothing. One installation that is reached by two names comes once,
/// with the other names as aliases of its header directories.
[[nodiscard]] FoundInstallations FindInstallations(const SearchPlaces& places);

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

/// Why no toolchain was found in a place that a person named: it is missing, this process may not
/// enter or read it, or it holds none. With the way out.
[[nodiscard]] std::string WhyNothingFound(const std::string& place);

}  // namespace cccl_cache::daemon
