// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/user_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <tuple>
#include <vector>

#include "base/files/file_size_limit.h"
#include "base/files/own_path.h"
#include "base/files/verified_descriptor.h"
#include "base/files/whole_file.h"

namespace cccl_cache {
namespace {

constexpr size_t kMaxFiles = 512;
/// Limit of one value. The longest value is the digests of 100,000 headers, which need less.
constexpr off_t kMaxBytes = off_t{4} << 20;

bool OnlyThisUserWrites(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string FileName(std::string_view name) {
  std::string file(name);
  std::replace(file.begin(), file.end(), '/', '-');
  return file;
}

/// Removes the oldest files above the limit, also temporary files that killed processes left.
void DropOldest(int directory) {
  const int listed = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(listed), closedir);
  if (entries == nullptr) return FileDescriptor(listed).Close();
  std::vector<std::tuple<time_t, long, std::string>> files;  // oldest first
  while (const dirent* const entry = readdir(entries.get())) {
    struct stat status {};
    if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(status.st_mode)) continue;
    files.emplace_back(status.st_mtim.tv_sec, status.st_mtim.tv_nsec, entry->d_name);
  }
  if (files.size() <= kMaxFiles) return;
  std::sort(files.begin(), files.end());
  files.resize(files.size() - kMaxFiles);
  for (const auto& [seconds, nanoseconds, name] : files) unlinkat(directory, name.c_str(), 0);
}

}  // namespace

UserCache UserCache::Of(std::string_view kind) {
  std::string directory = CacheDirectory();
  if (!directory.empty()) directory.append("/").append(kind);
  return {std::move(directory), 3};
}

std::optional<std::string> UserCache::Get(std::string_view name) const {
  const FileDescriptor directory = OpenDirectory();
  if (!directory.valid()) return std::nullopt;
  const FileDescriptor file(openat(directory.get(), FileName(name).c_str(),
                                   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return std::nullopt;
  const bool sound =
      S_ISREG(status.st_mode) && OnlyThisUserWrites(status) && status.st_size <= kMaxBytes;
  return sound ? ReadAll(file.get(), kMaxBytes) : std::nullopt;
}

void UserCache::Put(std::string_view name, std::string_view value) const {
  const FileDescriptor directory = MakeDirectory();
  // The temporary file has a random name, not the pid: processes on two machines with a shared home
  // directory, or in two containers, may have the same pid.
  uint64_t random = 0;
  if (!directory.valid() || !MayMakeFile(value.size()) ||
      getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random)) {
    return;
  }
  const std::string file = FileName(name);
  const std::string draft = "." + std::to_string(random);
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const FileDescriptor written = AboveStandardStreams(
      FileDescriptor(openat(directory.get(), draft.c_str(), kNew, S_IRUSR | S_IWUSR)));
  if (!WriteAll(written.get(), value) ||
      renameat(directory.get(), draft.c_str(), directory.get(), file.c_str()) != 0) {
    unlinkat(directory.get(), draft.c_str(), 0);
  }
  DropOldest(directory.get());
}

void UserCache::Remove(std::string_view name) const {
  const FileDescriptor directory = OpenDirectory();
  if (directory.valid()) unlinkat(directory.get(), FileName(name).c_str(), 0);
}

std::optional<std::chrono::seconds> UserCache::Age(std::string_view name) const {
  const FileDescriptor directory = OpenDirectory();
  struct stat status {};
  if (!directory.valid() ||
      fstatat(directory.get(), FileName(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  const std::chrono::seconds age(std::time(nullptr) - status.st_mtime);
  return age.count() < 0 ? std::nullopt : std::optional(age);
}

FileDescriptor UserCache::OpenDirectory() const {
  if (directory_.empty()) return {};
  FileDescriptor directory(
      open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  const bool own = fstat(directory.get(), &status) == 0 && OnlyThisUserWrites(status);
  return own ? std::move(directory) : FileDescriptor();
}

FileDescriptor UserCache::MakeDirectory() const {
  FileDescriptor directory = OpenDirectory();
  if (directory.valid()) return directory;
  MakeLastDirectories(directory_, own_);
  return OpenDirectory();
}

}  // namespace cccl_cache
