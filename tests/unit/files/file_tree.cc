// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/files/file_tree.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files/file_stamp.h"

namespace cccl_cache::daemon {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOtherDaemon = 54320;

template <typename T>
Error ErrorOfResult(const Result<T>& result) {
  REQUIRE_FALSE(result.ok());
  return result.error();
}

}  // namespace

FileTree::FileTree() {
  fs::permissions(directory_.path(), fs::perms(0755));
  memory->write_back = [] { return 0; };
}

void FileTree::Write(const std::string& name, std::string_view contents) const {
  Directory(fs::path(name).parent_path());
  const bool is_new = !fs::exists(Path(name));
  std::ofstream(Path(name), std::ios::binary) << contents;
  if (is_new) Mode(name, 0644);
}

void FileTree::Directory(const std::string& name) const {
  std::string path;
  for (const fs::path& part : fs::path(name)) {
    path += (path.empty() ? "" : "/") + part.string();
    if (!fs::is_directory(Path(path)) && fs::create_directory(Path(path))) Mode(path, 0755);
  }
}

void FileTree::Link(const std::string& name, const std::string& target) const {
  Directory(fs::path(name).parent_path());
  fs::remove(Path(name));
  fs::create_symlink(target, Path(name));
}

void FileTree::Mode(const std::string& name, mode_t mode) const {
  REQUIRE(chmod(Path(name).c_str(), mode) == 0);
}

void FileTree::ShutOut(const std::string& name, uid_t uid) const {
  // The kernel's format of an access list.
  struct Entry {
    uint16_t tag;
    uint16_t rights;
    uint32_t id;
  };
  constexpr uint32_t kNoId = 0xffffffff;
  struct {
    uint32_t version = 2;
    std::array<Entry, 5> entries;
  } list;
  list.entries = {
      Entry{0x01, 7, kNoId}, {0x02, 0, uid}, {0x04, 5, kNoId}, {0x10, 5, kNoId}, {0x20, 5, kNoId}};
  const int failed =
      setxattr(Path(name).c_str(), "system.posix_acl_access", &list, sizeof(list), 0);
  if (failed != 0 && errno == EOPNOTSUPP) {
    FAIL("no access lists on the file system of temporary files: name another by TMPDIR");
  }
  REQUIRE(failed == 0);
}

struct stat FileTree::Status(const std::string& name) const {
  struct stat status {};
  REQUIRE(stat(Path(name).c_str(), &status) == 0);
  return status;
}

ContentStamp FileTree::Stamp(const std::string& name) const {
  struct statx status {};
  REQUIRE(StatusAt(AT_FDCWD, Path(name), &status) == 0);
  return ContentStamp::Of(status);
}

void FileTree::Settle(const std::string& name) const {
  while (!Stamp(name).IsSettledAt(FileTimeNow())) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::unique_ptr<RequesterFiles> FileTree::Own(const std::vector<std::string>& roots) {
  return With(Reach(FileReach::kDaemons, geteuid()), roots);
}

std::unique_ptr<RequesterFiles> FileTree::Strangers(const std::vector<std::string>& roots) {
  return With(Reach(FileReach::kEverybodys, kOtherDaemon), roots);
}

std::unique_ptr<RequesterFiles> FileTree::With(Reach reach, const std::vector<std::string>& roots) {
  RootDirectories directories;
  for (const std::string& root : roots) directories.roots.push_back(Path(root));
  directories.working_directory = directory_.path();
  return std::make_unique<HostFiles>(reach, directories, refused, memory);
}

Error ErrorOf(const Result<SeenFile>& seen) { return ErrorOfResult(seen); }
Error ErrorOf(const Result<RequesterFiles::Contents>& contents) { return ErrorOfResult(contents); }

}  // namespace cccl_cache::daemon
