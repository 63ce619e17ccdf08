// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/digest.h"

namespace cccl_cache {

/// Returns a digest of the stamps of the files at these paths: while it stays the same, the
/// contents do, also for other processes. None: no stamp proves that (StampReader). Thread-safe.
[[nodiscard]] std::optional<Digest> StampOfFiles(std::span<const std::string> paths);

/// Returns the SHA-256 of a file's bytes; none if the file can't be read or changes meanwhile. The
/// digest is kept in the user's cache directory under the file's stamp if that proves anything, so
/// that another process does not read the file again. Thread-safe.
[[nodiscard]] std::optional<Digest> DigestOfFile(const std::string& path);

/// The files that make up a compiler.
struct Component {
  /// The libnvrtc or libnvJitLink, without links, then libnvrtc's builtins.
  std::vector<std::string> files;
  /// The path beside libnvrtc under which its builtins are loaded: of several names the shortest,
  /// which is that of the release. Others add the number of a build.
  std::string builtins;
};

/// Returns the component whose library lies at this path. Empty if it can't be read, or if the
/// builtins beside libnvrtc are not those of one release.
[[nodiscard]] Component ComponentOf(const std::string& library);

/// Returns the id of the daemon's component (docs/internals/protocol.md) that has the same files as
/// the libnvrtc or libnvJitLink at this path; none if they can't be read, or if the builtins beside
/// libnvrtc are not those of one release. Thread-safe.
[[nodiscard]] std::optional<Digest> ComponentIdOf(const std::string& library);

/// Returns the id (kLibraryMark) by which a build names the daemon's toolchain with the same files.
/// Reads no file: includes their digests if they are kept. Empty: their stamps prove nothing.
/// Thread-safe.
[[nodiscard]] std::string ToolchainIdByLibrary(const Component& component);

}  // namespace cccl_cache
