// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox/sandbox.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "daemon/core/model/toolchain.h"
#include "daemon/worker/files/paths.h"

namespace cccl_cache::daemon {
namespace {

/// Drops all capabilities. The workers of a daemon that runs as root are root, but then can only
/// open files that root owns.
Status DropCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) == 0) return Ok{};
  return Error{ErrorCode::kUnavailable, std::string("dropping capabilities: ") + strerror(errno)};
}

namespace fs = std::filesystem;

/// Far more than any installation has. Places beyond this number can't be read.
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

Result<Sandbox> Sandbox::Prepare(const std::vector<std::string>& readable) {
  Result<LandlockRules> landlock = LandlockRules::Make(WithLinkTargets(readable));
  if (!landlock) return landlock.error();
  if (!SystemCallFilter::Available()) return Sandbox(*std::move(landlock), std::nullopt);
  Result<SystemCallFilter> filter = SystemCallFilter::Make(
      landlock->abi() > 0 ? SystemCallFilter::Paths::kReadOnly : SystemCallFilter::Paths::kNone);
  if (!filter) return filter.error();
  return Sandbox(*std::move(landlock), *std::move(filter));
}

SandboxKind Sandbox::kind() const {
  if (!filter_) return SandboxKind::kNone;
  return landlock_.abi() > 0 ? SandboxKind::kReadsToolchain : SandboxKind::kOpensNothing;
}

std::string Sandbox::Description() const {
  switch (kind()) {
    case SandboxKind::kReadsToolchain:
      return "Landlock ABI " + std::to_string(landlock_.abi()) + " and seccomp";
    case SandboxKind::kOpensNothing:
      return "seccomp alone, no Landlock: workers open no file themselves";
    case SandboxKind::kNone:
      break;
  }
  return "none, no seccomp: programs of other users than the daemon's own are not compiled";
}

Status Sandbox::LimitReach() const {
  if (Status dropped = DropCapabilities(); !dropped) return dropped;
  return landlock_.abi() > 0 ? landlock_.Enter() : Status(Ok{});
}

Status Sandbox::LimitCalls() const { return filter_ ? filter_->Enter() : Status(Ok{}); }

std::vector<std::string> WithLinkTargets(std::vector<std::string> directories) {
  // The list grows while it is walked: a target may hold links too.
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
