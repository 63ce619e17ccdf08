// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/stranger_rights.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>

namespace cccl_cache::daemon {
namespace {

constexpr uid_t kNobody = 65534;

// The system calls themselves: the C library's setgroups changes all threads.
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
