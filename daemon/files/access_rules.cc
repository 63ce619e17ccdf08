// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/access_rules.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>

namespace cccl_cache::daemon {
namespace {

constexpr uid_t kNobody = 65534;

// Calls the kernel directly, because the C library's setgroups changes the ids of all threads.
uid_t SetFileUid(uid_t uid) { return static_cast<uid_t>(syscall(SYS_setfsuid, uid)); }
gid_t SetFileGid(gid_t gid) { return static_cast<gid_t>(syscall(SYS_setfsgid, gid)); }
bool SetGroups(const std::vector<gid_t>& groups) {
  return syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

std::vector<gid_t> Groups() {
  const int count = getgroups(0, nullptr);
  std::vector<gid_t> groups(count > 0 ? static_cast<size_t>(count) : 0);
  const int got = getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return groups;
}

}  // namespace

bool Reach::MaySearch(const struct statx& directory) const {
  return Allows(directory, S_IXUSR | S_IXGRP | S_IXOTH);
}

bool Reach::MayRead(const struct statx& file) const {
  return Allows(file, S_IRUSR | S_IRGRP | S_IROTH);
}

bool Reach::Allows(const struct statx& status, mode_t everybody) const {
  if (!stranger_) return true;
  if (keeper_ != 0 && status.stx_uid == keeper_) return false;
  return (status.stx_mode & everybody) == everybody;
}

bool CheckedDirectories::Know(const ContentStamp& directory) {
  const MutexLock lock(mutex_);
  return entries_.Use(directory) != nullptr;
}

void CheckedDirectories::Remember(const ContentStamp& directory) {
  const MutexLock lock(mutex_);
  static_cast<void>(entries_.Insert({}, directory, {}, 0));
}

Reached<Searchable> AccessRules::CheckSearch(int directory, const struct statx& status,
                                             int64_t now_ns) {
  if (refused_.Close(status)) return PathError{PathError::Kind::kRefused};
  const Reached<FileSystem> place = file_systems_.Of(directory, "", status);
  if (const auto* obstacle = std::get_if<PathError>(&place)) return *obstacle;
  Searchable searchable{std::get<FileSystem>(place)};
  const ContentStamp stamp = ContentStamp::Of(status);
  if (StampsProve(searchable.file_system, status) && stamp.IsSettledAt(now_ns)) {
    searchable.stamp = stamp;
  }
  if (!reach_.IsStrangers()) return searchable;
  if (!reach_.MaySearch(status)) return PathError{PathError::Kind::kClientOnly};
  if (searchable.stamp && checked_.Know(stamp)) return searchable;
  if (HasAccessList(directory)) return PathError{PathError::Kind::kClientOnly};
  {
    const StrangerRights rights(true);
    const FileDescriptor searched(openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!searched.valid()) return PathError::Of(errno);
  }
  if (searchable.stamp) checked_.Remember(stamp);
  return searchable;
}

Reached<FileSystem> AccessRules::CheckTarget(int directory, const std::string& name,
                                             const struct statx& status) {
  if (refused_.Include(status)) return PathError{PathError::Kind::kRefused};
  Reached<FileSystem> place = file_systems_.Of(directory, name, status);
  if (const auto* system = std::get_if<FileSystem>(&place)) {
    if (*system == FileSystem::kKernel) return PathError{PathError::Kind::kRefused};
  }
  if (std::holds_alternative<PathError>(place) || S_ISDIR(status.stx_mode)) return place;
  if (!S_ISREG(status.stx_mode)) return PathError{PathError::Kind::kSpecial};
  if (!reach_.MayRead(status)) return PathError{PathError::Kind::kClientOnly};
  if (status.stx_size > kMaxFileBytes) return PathError{PathError::Kind::kTooLarge};
  return place;
}

Reached<FileDescriptor> AccessRules::OpenContents(int file) const {
  if (reach_.IsStrangers() && HasAccessList(file)) return PathError{PathError::Kind::kClientOnly};
  const StrangerRights rights(reach_.IsStrangers());
  const std::string path = fmt::format("/proc/self/fd/{}", file);
  FileDescriptor contents(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // The file is open, so ENOENT means that /proc is missing.
  if (!contents.valid() && errno == ENOENT) return PathError{PathError::Kind::kFailed, ENOENT};
  if (!contents.valid()) return PathError::Of(errno);
  return contents;
}

bool HasAccessList(int fd) {
  // fgetxattr takes no O_PATH descriptor.
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  if (getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) >= 0) return true;
  return errno != ENODATA && errno != EOPNOTSUPP;
}

StrangerRights::StrangerRights(bool wanted) {
  if (!wanted || geteuid() != 0) return;
  groups_ = Groups();
  if (!SetGroups({})) return;
  gid_ = SetFileGid(kNobody);
  uid_ = SetFileUid(kNobody);
  changed_ = true;
}

StrangerRights::~StrangerRights() {
  if (!changed_) return;
  SetFileUid(uid_);
  SetFileGid(gid_);
  [[maybe_unused]] const bool restored = SetGroups(groups_);
  assert(restored);
}

}  // namespace cccl_cache::daemon
