// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/sandbox/landlock.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {
namespace {

// The kernel's own numbers: the C library's headers may be older than the kernel that this runs on.
constexpr uint32_t kVersionFlag = 1;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadDirectory = 1 << 3;
constexpr int kBeneathPath = 1;

/// Fields that a version does not know stay zero: the kernel then accepts the longer struct.
struct RulesetAttributes {
  uint64_t files;
  uint64_t network;
  uint64_t scoped;
};

struct __attribute__((packed)) PathAttributes {
  uint64_t allowed;
  int32_t parent;
};

/// Returns all rights that a version can forbid.
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
  // The kernel refuses a rule that gives a file a right of directories.
  const uint64_t rights = S_ISDIR(status.st_mode) ? kReadFile | kReadDirectory : kReadFile;
  const PathAttributes rule{.allowed = rights, .parent = place.get()};
  if (syscall(SYS_landlock_add_rule, ruleset, kBeneathPath, &rule, 0) == 0) return Ok{};
  return SystemError("allowing " + path);
}

}  // namespace

Result<LandlockRules> LandlockRules::Make(const std::vector<std::string>& readable) {
  const int abi = static_cast<int>(syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersionFlag));
  // EPERM: the answer of a container's filter that does not know Landlock.
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
