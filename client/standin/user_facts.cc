// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/user_facts.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/file_size_limit.h"
#include "base/own_path.h"
#include "base/whole_file.h"
#include "proto/digest.h"

namespace cccl_cache::standin {
namespace {

constexpr size_t kSealBytes = sizeof(Digest::bytes);

/// Returns the directory if it is this user's, and others can't write there.
FileDescriptor OpenOwn(const std::string& path) {
  FileDescriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (!directory.valid() || fstat(directory.get(), &status) != 0 || status.st_uid != geteuid() ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return {};
  }
  return directory;
}

}  // namespace

UserFacts::UserFacts() {
  const char* runtime = secure_getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/') {
    const std::string place = std::string(runtime) + "/cccl-cache";
    MakeLastDirectories(place, 1);
    directory_ = OpenOwn(place);
  }
  std::string place = kept() ? "" : CacheDirectory();
  if (place.empty()) return;
  MakeLastDirectories(place += "/facts", 3);
  directory_ = OpenOwn(place);
}

std::optional<std::string> UserFacts::Get(const std::string& name) const {
  if (!kept()) return std::nullopt;
  const FileDescriptor file(
      openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  const std::optional<std::string> sealed = ReadAll(file.get());
  if (!sealed || sealed->size() < kSealBytes) return std::nullopt;
  std::string value = sealed->substr(kSealBytes);
  if (!sealed->starts_with(Sha256(value).View())) return std::nullopt;
  return value;
}

void UserFacts::Put(const std::string& name, std::string_view value) const {
  if (!kept() || !MayMakeFile(kSealBytes + value.size())) return;
  // Processes of two nodes, or of two containers, may have one number.
  uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) return;
  const std::string draft = name + "." + std::to_string(random);
  const FileDescriptor file(openat(directory_.get(), draft.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return;
  if (!WriteAll(file.get(), Sha256(value).View()) || !WriteAll(file.get(), value) ||
      renameat(directory_.get(), draft.c_str(), directory_.get(), name.c_str()) != 0) {
    unlinkat(directory_.get(), draft.c_str(), 0);
  }
}

void UserFacts::Remove(const std::string& name) const {
  if (kept()) unlinkat(directory_.get(), name.c_str(), 0);
}

std::optional<std::chrono::seconds> UserFacts::Age(const std::string& name) const {
  struct stat status;
  if (!kept() || fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  const time_t age = std::time(nullptr) - status.st_mtime;
  if (age < 0) return std::nullopt;
  return std::chrono::seconds(age);
}

}  // namespace cccl_cache::standin
