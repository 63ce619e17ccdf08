// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/file_systems.h"

#include <fcntl.h>
#include <sys/vfs.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/files/file_descriptor.h"
#include "base/files/file_stamp.h"
#include "tests/unit/files/file_tree.h"

namespace file_systems_test {

using namespace cccl_cache::daemon;
using cccl_cache::FileDescriptor;
using cccl_cache::FileSystem;
using cccl_cache::StatusAt;

namespace {

FileDescriptor OpenPath(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
  REQUIRE(file.valid());
  return file;
}

struct statx StatusOf(int directory, const std::string& name) {
  struct statx status {};
  REQUIRE(StatusAt(directory, name, &status) == 0);
  return status;
}

FileSystem KindOf(const Reached<FileSystem>& reached) {
  REQUIRE(std::holds_alternative<FileSystem>(reached));
  return std::get<FileSystem>(reached);
}

PathError::Kind ObstacleOf(const Reached<FileSystem>& reached) {
  REQUIRE(std::holds_alternative<PathError>(reached));
  return std::get<PathError>(reached).kind;
}

FileSystem KindOf(const std::string& path) {
  const FileDescriptor file = OpenPath(path);
  return KindOf(FileSystems().Of(file.get(), "", StatusOf(file.get(), "")));
}

}  // namespace

TEST_CASE("/proc and /sys are recognised as the kernel's own file systems") {
  CHECK(KindOf("/proc") == FileSystem::kKernel);
  CHECK(KindOf("/proc/self/status") == FileSystem::kKernel);
  CHECK(KindOf("/sys") == FileSystem::kKernel);
  FileTree tree;
  CHECK(KindOf(tree.Path("")) != FileSystem::kKernel);
}

TEST_CASE("memory file systems and disks are distinguished") {
  CHECK(KindOf("/dev/shm") == FileSystem::kMemory);
  FileTree tree;
  struct statfs system {};
  REQUIRE(statfs(tree.Path("").c_str(), &system) == 0);
  const struct statx status = StatusOf(AT_FDCWD, tree.Path(""));
  CHECK(KindOf(tree.Path("")) == cccl_cache::KindOf(system, status));
}

TEST_CASE("the file system of a symlink is that of the link, not of its target") {
  FileTree tree;
  tree.Write("a.h", "");
  tree.Link("link", "/proc/version");
  const FileDescriptor directory = OpenPath(tree.Path(""));
  for (const char* name : {"a.h", "link"}) {
    const struct statx status = StatusOf(directory.get(), name);
    CHECK(KindOf(FileSystems().Of(directory.get(), name, status)) == KindOf(tree.Path("")));
  }
  const FileDescriptor proc = OpenPath("/proc");
  CHECK(KindOf(FileSystems().Of(proc.get(), "version", StatusOf(proc.get(), "version"))) ==
        FileSystem::kKernel);
}

TEST_CASE("a file system is queried once for all its files") {
  FileTree tree;
  tree.Write("a.h", "");
  const FileDescriptor directory = OpenPath(tree.Path(""));
  const struct statx status = StatusOf(directory.get(), "a.h");
  FileSystems systems;
  const FileSystem kind = KindOf(systems.Of(directory.get(), "a.h", status));
  CHECK(KindOf(systems.Of(-1, "", status)) == kind);
  CHECK(KindOf(systems.Of(directory.get(), "gone", status)) == kind);
  const FileDescriptor proc = OpenPath("/proc");
  CHECK(KindOf(systems.Of(proc.get(), "", StatusOf(proc.get(), ""))) == FileSystem::kKernel);
}

TEST_CASE("a missing or replaced name is an error") {
  FileTree tree;
  tree.Write("a.h", "");
  const FileDescriptor directory = OpenPath(tree.Path(""));
  struct statx status = StatusOf(directory.get(), "a.h");
  std::filesystem::remove(tree.Path("a.h"));
  FileSystems systems;
  CHECK(ObstacleOf(systems.Of(directory.get(), "a.h", status)) == PathError::Kind::kAbsent);
  tree.Write("a.h", "");
  ++status.stx_dev_minor;
  CHECK(ObstacleOf(systems.Of(directory.get(), "a.h", status)) == PathError::Kind::kChanging);
}

TEST_CASE("an invalid descriptor is a failure") {
  FileTree tree;
  const FileDescriptor directory = OpenPath(tree.Path(""));
  const struct statx status = StatusOf(directory.get(), "");
  CHECK(ObstacleOf(FileSystems().Of(-1, "", status)) == PathError::Kind::kFailed);
}

}  // namespace file_systems_test
