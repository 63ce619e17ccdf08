// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/digest.h"

namespace cccl_cache::daemon {

/// A release of NVRTC or nvJitLink that NVIDIA published. A plain value.
struct KnownRelease {
  struct File {
    uint64_t bytes = 0;
    Digest sha256;
  };

  std::string_view version;  ///< "13.0.88"
  File library;
  std::optional<File> builtins;  ///< NVRTC's file of builtins; nvJitLink has none

  [[nodiscard]] uint64_t bytes() const { return library.bytes + (builtins ? builtins->bytes : 0); }
  /// Returns the files in the order in which clients send them.
  [[nodiscard]] std::vector<File> files() const;
  /// Returns the names under which the files are kept, in the order of files(). The library's name
  /// has the whole version, from which the toolchain's minor version is read.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Returns the name of the directory of this release: "nvrtc-13.0.88".
  [[nodiscard]] std::string directory() const;
  /// Returns the id of the component that consists of these files.
  [[nodiscard]] Digest component() const;
};

/// Returns the table of this processor: known_releases_x86_64.list or known_releases_aarch64.list.
[[nodiscard]] std::span<const KnownRelease> KnownReleases();

}  // namespace cccl_cache::daemon
