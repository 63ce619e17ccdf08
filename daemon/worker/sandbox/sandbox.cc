// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "daemon/core/model/toolchain.h"
#include "daemon/worker/files/paths.h"
#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {
namespace {

/// Drops all capabilities. If the daemon runs as root, its workers still have the user id 0, but
/// without capabilities the permissions of files apply to them.
Status DropCapabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) == 0) return Ok{};
  return Error{ErrorCode::kUnavailable, std::string("dropping capabilities: ") + strerror(errno)};
}

namespace fs = std::filesystem;

/// Maximum number of readable paths, far above the need of any installation. Further paths can't be
/// read.
constexpr size_t kMaxPlaces = 4096;

bool LiesInAny(std::string_view path, const auto& directories) {
  return std::ranges::any_of(directories,
                             [&](std::string_view each) { return LiesIn(path, each); });
}

void AddTarget(const fs::path& link, std::vector<std::string>& places) {
  std::error_code error;
  const std::string target = fs::canonical(link, error).string();
  if (error || target == "/" || LiesInAny(target, places) || IsNeverRead(target)) return;
  if (places.size() < kMaxPlaces) places.push_back(target);
}

// Constants of Landlock's interface. They are defined here, because the C library's headers may be
// older than the kernel.
constexpr uint32_t kVersionFlag = 1;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadDirectory = 1 << 3;
constexpr int kBeneathPath = 1;

/// The kernel's landlock_ruleset_attr. An older kernel accepts this longer struct if the fields
/// that it does not know are zero.
struct RulesetAttributes {
  uint64_t files;
  uint64_t network;
  uint64_t scoped;
};

struct __attribute__((packed)) PathAttributes {
  uint64_t allowed;
  int32_t parent;
};

/// Returns all accesses that this version of Landlock can forbid.
RulesetAttributes EverythingOf(int abi) {
  RulesetAttributes all{.files = (1 << 13) - 1, .network = 0, .scoped = 0};
  if (abi >= 2) all.files |= 1 << 13;  // link and rename across directories
  if (abi >= 3) all.files |= 1 << 14;  // truncate
  if (abi >= 4) all.network = 3;       // bind and connect TCP
  if (abi >= 5) all.files |= 1 << 15;  // ioctl of devices
  if (abi >= 6) all.scoped = 3;        // abstract Unix sockets, signals
  return all;
}

Error SystemError(const std::string& what) {
  return Error{ErrorCode::kUnavailable, "Landlock: " + what + ": " + strerror(errno)};
}

Status Allow(int ruleset, const std::string& path) {
  const int opened = real_files::Open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
  if (opened == -ENOENT || opened == -ENOTDIR) return Ok{};
  errno = -opened;
  if (opened < 0) return SystemError("opening " + path);
  const FileDescriptor place(opened);
  struct stat status;
  if (real_files::Stat(place.get(), &status) != 0) return Ok{};
  // For a file, the kernel refuses a rule that includes a right of directories.
  const uint64_t rights = S_ISDIR(status.st_mode) ? kReadFile | kReadDirectory : kReadFile;
  const PathAttributes rule{.allowed = rights, .parent = place.get()};
  if (syscall(SYS_landlock_add_rule, ruleset, kBeneathPath, &rule, 0) == 0) return Ok{};
  return SystemError("allowing " + path);
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
  // The vector grows during this loop, because the target of a symlink may contain further
  // symlinks.
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

Result<LandlockRules> LandlockRules::Make(const std::vector<std::string>& readable) {
  const int abi = static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersionFlag));
  // EPERM: the seccomp filter of a container does not know the calls of Landlock.
  if (abi < 0 && (errno == ENOSYS || errno == EOPNOTSUPP || errno == EPERM)) {
    return LandlockRules(0, FileDescriptor());
  }
  if (abi < 1) return SystemError("asking for its version");
  const RulesetAttributes attributes = EverythingOf(abi);
  FileDescriptor ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0)));
  if (!ruleset.valid()) return SystemError("making rules");
  for (const std::string& directory : readable) {
    if (Status allowed = Allow(ruleset.get(), directory); !allowed) return allowed.error();
  }
  return LandlockRules(abi, std::move(ruleset));
}

Status LandlockRules::Enter() const {
  if (syscall(SYS_landlock_restrict_self, ruleset_.get(), 0) == 0) return Ok{};
  return SystemError("entering it");
}

}  // namespace cccl_cache::daemon
