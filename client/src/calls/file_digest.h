// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "proto/digest.h"

namespace cccl_cache {

/// Returns a digest of the stamps of the files at these paths. An unchanged digest proves unchanged
/// contents, also for other processes. None if a stamp proves nothing (StampReader). Thread-safe.
[[nodiscard]] std::optional<Digest> StampOfFiles(std::span<const std::string> paths);

/// Returns the SHA-256 of a file's bytes. None if the file can't be read or changes during the
/// read. If the file's stamp proves anything, the digest is kept under it in the user's cache
/// directory, so that another process need not read the file. Thread-safe.
[[nodiscard]] std::optional<Digest> DigestOfFile(const std::string& path);

/// The files that make up a compiler.
struct Component {
  /// The libnvrtc or libnvJitLink, without links, and then libnvrtc's builtins.
  std::vector<std::string> files;
  /// The path beside libnvrtc from which its builtins are loaded. If they have several names, it is
  /// the shortest, which is that of the release. The other names add a build number.
  std::string builtins;
};

/// Returns the component with the library at this path. Empty if the library can't be read, or if
/// the builtins beside libnvrtc are of several releases.
[[nodiscard]] Component ComponentOf(const std::string& library);

/// Returns the id of the daemon's component (docs/internals/protocol.md) with the same files as the
/// libnvrtc or libnvJitLink at this path. None if they can't be read, or if the builtins beside
/// libnvrtc are of several releases. Thread-safe.
[[nodiscard]] std::optional<Digest> ComponentIdOf(const std::string& library);

/// Returns the id (kLibraryMark) by which a build names the daemon's toolchain with the same files.
/// Reads no file: the id has the digests of the files only if they are kept. Empty if the stamps
/// prove nothing. Thread-safe.
[[nodiscard]] std::string ToolchainIdByLibrary(const Component& component);

}  // namespace cccl_cache
