// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/system/own_directory.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "base/files/own_path.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kEntryBytes = 64 << 10;

Error SystemError(std::string_view what, const std::filesystem::path& path, int error) {
  return Error{ErrorCode::kUnavailable,
               fmt::format("{} {}: {}", what, path.string(), std::strerror(error))};
}

/// Returns whether the group has this user's name and no other member. Files that such a group can
/// write (mode 0664 or 0775) can be written by this user alone.
bool IsOwnGroup(gid_t gid) {
  std::vector<char> user_bytes(kEntryBytes);
  std::vector<char> group_bytes(kEntryBytes);
  passwd user{};
  group own{};
  passwd* found_user = nullptr;
  group* found_group = nullptr;
  getpwuid_r(geteuid(), &user, user_bytes.data(), user_bytes.size(), &found_user);
  getgrgid_r(gid, &own, group_bytes.data(), group_bytes.size(), &found_group);
  if (found_user == nullptr || found_group == nullptr) return false;
  if (user.pw_gid != gid || std::strcmp(user.pw_name, own.gr_name) != 0) return false;
  for (char** member = own.gr_mem; *member != nullptr; ++member) {
    if (std::strcmp(*member, user.pw_name) != 0) return false;
  }
  return true;
}

/// Checks that only root and this user can write the file or directory. If `sticky` is true, a
/// directory with the sticky bit may be writable by others, because they can replace only their own
/// files in it.
Status CheckOwn(const std::filesystem::path& path, std::string_view danger, bool sticky,
                std::string_view kind) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return SystemError("cannot look at", path, errno);
  const bool others_own = info.st_uid != 0 && info.st_uid != geteuid();
  const bool group_writes = (info.st_mode & S_IWGRP) != 0 && !IsOwnGroup(info.st_gid);
  const bool others_write = group_writes || (info.st_mode & S_IWOTH) != 0;
  const bool protects = (info.st_mode & S_ISVTX) != 0 && sticky;
  if (!others_own && (!others_write || protects)) return Ok{};
  return Error{ErrorCode::kDenied,
               fmt::format("others than root and this user can write {} (owner {}, mode {:04o}), "
                           "so they could {}: choose another {}, or chown and chmod go-w this one",
                           path.string(), info.st_uid, info.st_mode & 07777, danger, kind)};
}

Status CheckUpToRoot(const std::filesystem::path& directory, std::string_view danger) {
  for (std::filesystem::path part = directory;; part = part.parent_path()) {
    if (Status own = CheckOwn(part, danger, part != directory, "directory"); !own) return own;
    if (part == part.root_path()) return Ok{};
  }
}

/// Resolves the symlinks of a path, reading each only once, and checks the path. kDenied: another
/// user could change it.
Result<FollowedDirectory> Follow(const std::string& directory, const OwnDirectoryRules& rules,
                                 std::string_view danger) {
  FollowedDirectory followed = OwnDirectory(directory, rules);
  if (followed.refusal.empty()) return followed;
  return Error{ErrorCode::kDenied,
               fmt::format("{}, so others than root and this user could {}: choose another "
                           "directory, or chown and chmod go-w this one",
                           followed.refusal, danger)};
}

}  // namespace

Result<std::string> MakeOwnDirectory(const std::string& directory, mode_t mode,
                                     std::string_view danger) {
  Result<FollowedDirectory> followed = Follow(directory, {.makes_missing = true}, danger);
  if (!followed) return followed.error();
  if (followed->exists) return std::move(followed->path);
  if (Status made = MakeDirectories(followed->path, mode); !made) return made.error();
  // In a sticky directory another user may have made the new directory first, so it is checked
  // again.
  followed = Follow(followed->path, {}, danger);
  if (!followed) return followed.error();
  return std::move(followed->path);
}

Status MakeDirectories(const std::filesystem::path& directory, mode_t mode) {
  std::error_code failed;
  if (directory.empty() || std::filesystem::is_directory(directory, failed)) return Ok{};
  if (auto above = MakeDirectories(directory.parent_path(), mode); !above) return above;
  if (mkdir(directory.c_str(), mode) == 0 || errno == EEXIST) return Ok{};
  Error error = SystemError("cannot make", directory, errno);
  error.message += "; make it as root and give it to this user, or choose another directory";
  return error;
}

Status CheckOwnDirectory(const std::filesystem::path& directory, std::string_view danger) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(directory, failed);
  if (failed) return SystemError("cannot look at", directory, failed.value());
  if (auto spelled = CheckUpToRoot(absolute, danger); !spelled) return spelled;
  const std::filesystem::path followed = std::filesystem::canonical(absolute, failed);
  if (failed) return SystemError("cannot look at", directory, failed.value());
  return CheckUpToRoot(followed, danger);
}

Status CheckOwnFile(const std::filesystem::path& file, std::string_view danger) {
  return CheckOwn(file, danger, false, "file");
}

}  // namespace cccl_cache::daemon
