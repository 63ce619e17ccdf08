// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/empty_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace cccl_cache::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGoodPlaces =
    "name a CUDA toolkit, a site-packages directory, a virtual environment or a directory of these "
    "libraries";

bool Allows(const fs::path& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

std::string Forbidden(const char* what, const fs::path& path) {
  return fmt::format(
      "uid {}, as which toolchains are looked for, may not {} {}: allow it, or name a place that "
      "it can read",
      geteuid(), what, path.native());
}

/// The first directory on the way that can't be entered.
fs::path Barrier(const fs::path& place) {
  fs::path reached;
  for (const fs::path& name : place) {
    reached /= name;
    if (!Allows(reached, X_OK)) break;
  }
  return reached;
}

}  // namespace

std::string WhyNothingFound(const std::string& place) {
  if (!Allows(place, F_OK)) {
    if (errno == EACCES) return Forbidden("enter", Barrier(fs::path(place).parent_path()));
    if (errno == ENOENT) return fmt::format("it does not exist: {}", kGoodPlaces);
    return fmt::format("it can't be reached ({}): {}", std::strerror(errno), kGoodPlaces);
  }
  std::error_code error;
  if (!fs::is_directory(place, error)) return fmt::format("it is no directory: {}", kGoodPlaces);
  if (!Allows(place, X_OK)) return Forbidden("enter", place);
  if (!Allows(place, R_OK)) return Forbidden("list", place);
  return fmt::format("it holds no libnvrtc.so.N and no libnvJitLink.so.N; {}", kGoodPlaces);
}

}  // namespace cccl_cache::daemon
