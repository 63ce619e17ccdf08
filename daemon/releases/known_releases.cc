// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/releases/known_releases.h"

#include <fmt/format.h>

#include "proto/component_id.h"

namespace cccl_cache::daemon {
namespace {

using File = KnownRelease::File;

/// A malformed digest becomes zero, which matches no file; a test checks the whole table.
File FileOf(uint64_t bytes, std::string_view sha256) {
  return {bytes, Digest::FromHex(sha256).value_or(Digest{})};
}

std::vector<KnownRelease> ReadTable() {
  return {
#define NVRTC(version, bytes, sha256, builtins_bytes, builtins_sha256) \
  {version, FileOf(bytes, sha256), FileOf(builtins_bytes, builtins_sha256)},
#define NVJITLINK(version, bytes, sha256) {version, FileOf(bytes, sha256), std::nullopt},
#if defined(__aarch64__)
#include "daemon/releases/known_releases_aarch64.list"
#else
#include "daemon/releases/known_releases_x86_64.list"
#endif
#undef NVRTC
#undef NVJITLINK
  };
}

}  // namespace

std::vector<File> KnownRelease::files() const {
  if (!builtins) return {library};
  return {library, *builtins};
}

std::vector<std::string> KnownRelease::names() const {
  if (!builtins) return {fmt::format("libnvJitLink.so.{}", version)};
  const std::string_view minor = version.substr(0, version.rfind('.'));
  return {fmt::format("libnvrtc.so.{}", version), fmt::format("libnvrtc-builtins.so.{}", minor)};
}

std::string KnownRelease::directory() const {
  return fmt::format("{}-{}", builtins ? "nvrtc" : "nvjitlink", version);
}

Digest KnownRelease::component() const {
  return ComponentId(library.sha256, builtins ? std::optional(builtins->sha256) : std::nullopt);
}

std::span<const KnownRelease> KnownReleases() {
  static const std::vector<KnownRelease> table = ReadTable();
  return table;
}

}  // namespace cccl_cache::daemon
