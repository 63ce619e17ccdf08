// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <thread>

#include "proto/request.h"
#include "tests/support/root.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::files_view_test {
namespace {

// Returns the inode of this thread's namespace, read again.
uint64_t NamespaceNow() {
  struct stat seen {};
  return stat("/proc/thread-self/ns/mnt", &seen) == 0 ? seen.st_ino : 0;
}

}  // namespace

TEST_CASE("the view of a thread is stable") {
  const std::optional<FilesView> first = FilesViewOfThisThread();
  REQUIRE(first);
  CHECK(first->mount_namespace == NamespaceNow());
  CHECK(FilesViewOfThisThread() == first);
  std::optional<FilesView> other;
  std::thread([&] { other = FilesViewOfThisThread(); }).join();
  CHECK(other == first);
}

TEST_CASE("a thread in another mount namespace has another view until it returns", "[root]") {
  cccl_cache::daemon::RequireRoot();
  const int home = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  REQUIRE(home >= 0);
  bool could = false;
  std::optional<FilesView> before;
  std::optional<FilesView> inside;
  std::optional<FilesView> back;
  uint64_t inside_now = 0;
  std::thread([&] {
    before = FilesViewOfThisThread();
    if (unshare(CLONE_NEWNS) != 0) return;
    inside = FilesViewOfThisThread();
    inside_now = NamespaceNow();
    could = setns(home, CLONE_NEWNS) == 0;
    back = FilesViewOfThisThread();
  }).join();
  close(home);
  if (!could) FAIL("this root may not enter namespaces: a container needs CAP_SYS_ADMIN");
  REQUIRE(inside);
  CHECK(inside->mount_namespace == inside_now);
  CHECK(inside->mount_namespace != before->mount_namespace);
  CHECK(inside->root_mount != before->root_mount);
  CHECK(back == before);
}

TEST_CASE("a thread with another root directory, or another mount of it, has another view",
          "[root]") {
  cccl_cache::daemon::RequireRoot();
  const cccl_cache::daemon::TemporaryDirectory place;
  std::optional<FilesView> before;
  std::optional<FilesView> in_directory;
  std::optional<FilesView> in_mount;
  std::thread([&] {
    // CLONE_FS gives the thread its own root directory. The mount namespace ends with the thread.
    if (unshare(CLONE_FS | CLONE_NEWNS) != 0) return;
    const char* path = place.path().c_str();
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    before = FilesViewOfThisThread();
    const int old_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const auto view_under = [&]() -> std::optional<FilesView> {
      if (chroot(path) != 0) return std::nullopt;
      if (mkdir("/proc", 0700) != 0 && errno != EEXIST) return std::nullopt;
      if (mount("proc", "/proc", "proc", 0, nullptr) != 0) return std::nullopt;
      const std::optional<FilesView> view = FilesViewOfThisThread();
      umount("/proc");
      return fchdir(old_root) == 0 && chroot(".") == 0 ? view : std::nullopt;
    };
    in_directory = view_under();
    if (mount(path, path, nullptr, MS_BIND, nullptr) == 0) in_mount = view_under();
    close(old_root);
  }).join();
  if (!in_mount) FAIL("this root may not mount: a container needs CAP_SYS_ADMIN");
  REQUIRE(in_directory);
  CHECK(*in_directory != *before);
  CHECK(*in_mount != *in_directory);
  CHECK(in_mount->root_inode == in_directory->root_inode);
}

}  // namespace cccl_cache::files_view_test
