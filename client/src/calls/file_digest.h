// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/digest.h"

namespace cccl_cache {

/// Returns a digest of the stamps of the files at these paths. As long as the digest is the same,
/// the contents are the same, also for other processes. None: a stamp can't prove that
/// (StampReader). Thread-safe.
[[nodiscard]] std::optional<Digest> StampOfFiles(std::span<const std::string> paths);

/// Returns the SHA-256 of a file's contents. None: the file can't be read, or it changed during the
/// read. If the file's stamp proves its contents (StampReader), the digest is kept in the user's
/// cache directory, so that later calls and other processes need not read the file. Thread-safe.
[[nodiscard]] std::optional<Digest> DigestOfFile(const std::string& path);

/// The files of a compiler library.
struct Component {
  /// Real paths: libnvrtc and then its builtins, libnvvm and then its libdevice, or libnvJitLink
  /// alone.
  std::vector<std::string> files;
  std::string_view used_name;  ///< of the second file in ComponentId()
  /// The path, beside libnvrtc, from which libnvrtc loads its builtins. Several links may lead to
  /// them. This is the shortest path, whose name has the version of the release; others also have a
  /// build number.
  std::string builtins;
};

/// Returns the files of the library at this path. The result is empty if the library can't be read,
/// or if there are builtins of several releases beside libnvrtc.
[[nodiscard]] Component ComponentOf(const std::string& library);

/// Returns the id that the daemon's component with the same contents has
/// (docs/internals/protocol.md). `library` is the path of a compiler library. None: a file can't be
/// read, or there are builtins of several releases beside libnvrtc. Thread-safe.
[[nodiscard]] std::optional<Digest> ComponentIdOf(const std::string& library);

/// Returns a toolchain id for build options (kLibraryMark) that selects the daemon's toolchain with
/// the same files. Reads no file: the id consists of the stamps and, if they are in the user's
/// cache directory, the digests. The result is empty if the stamps prove nothing. Thread-safe.
[[nodiscard]] std::string ToolchainIdByLibrary(const Component& component);

}  // namespace cccl_cache
