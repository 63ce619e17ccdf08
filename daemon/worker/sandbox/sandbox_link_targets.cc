// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox/sandbox_link_targets.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "daemon/core/model/toolchain.h"
#include "daemon/worker/files/lexical_path.h"

namespace cccl_cache::daemon {
namespace {

namespace fs = std::filesystem;

/// Far more than any installation has; what lies beyond can't be read.
constexpr size_t kMaxPlaces = 4096;
constexpr std::string_view kNeverRead[] = {"/proc", "/sys", "/dev"};

bool LiesInAny(std::string_view path, const auto& directories) {
  return std::ranges::any_of(directories,
                             [&](std::string_view each) { return LiesIn(path, each); });
}

void AddTarget(const fs::path& link, std::vector<std::string>& places) {
  std::error_code error;
  const std::string target = fs::canonical(link, error).string();
  if (error || target == "/" || LiesInAny(target, places) || LiesInAny(target, kNeverRead)) return;
  if (places.size() < kMaxPlaces) places.push_back(target);
}

}  // namespace

std::vector<std::string> WithLinkTargets(std::vector<std::string> directories) {
  // Grows while it is walked: a target may hold links too.
  for (size_t i = 0; i < directories.size(); ++i) {
    std::error_code error;
    fs::recursive_directory_iterator entry(directories[i],
                                           fs::directory_options::skip_permission_denied, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      std::error_code unknown;
      if (entry->is_symlink(unknown)) AddTarget(entry->path(), directories);
    }
  }
  return directories;
}

}  // namespace cccl_cache::daemon
