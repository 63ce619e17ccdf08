// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/worker_path.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace cccl_cache::daemon {

Result<std::string> FindWorker() {
  // The paths are relative to the executable, so that an installation can be moved as a whole. The
  // daemon's wheel contains no worker; the worker in the package cccl_cache is used instead.
  constexpr std::array<const char*, 5> kPlaces = {
      CCCL_CACHED_INSTALLED_WORKER, "cccl-cached-worker", "../cccl_cache/cccl-cached-worker",
      CCCL_CACHED_BUILT_WORKER, "../" CCCL_CACHED_BUILT_WORKER};
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string tried;
  for (const char* place : kPlaces) {
    const std::string path = (self.parent_path() / place).lexically_normal().string();
    if (access(path.c_str(), X_OK) == 0) return path;
    tried += (tried.empty() ? "" : " and ") + path;
  }
  return Error{
      ErrorCode::kUnavailable,
      fmt::format("cccl-cached-worker is missing: looked for {}; install it with the daemon",
                  tried)};
}

std::string PackagesAround(const std::string& worker) {
  return std::filesystem::path(worker).parent_path().parent_path().string();
}

}  // namespace cccl_cache::daemon
