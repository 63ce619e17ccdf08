// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/paths.h"

#include <catch2/catch.hpp>
#include <string>

namespace paths_test {

using namespace cccl_cache::daemon;

TEST_CASE("single dots and double slashes are removed from a path, '..' is kept") {
  CHECK(WithoutDots("/a//b/./c/") == "/a/b/c");
  CHECK(WithoutDots("/a/../b") == "/a/../b");
  CHECK(WithoutDots("/") == "/");
  CHECK(WithoutDots("/.") == "/");
}

TEST_CASE("a path is normalised lexically, but not above the root") {
  CHECK(LexicallyNormal("/a/b/../c") == "/a/c");
  CHECK(LexicallyNormal("/a/../../..") == "/");
  CHECK(LexicallyNormal("/../etc/passwd") == "/etc/passwd");
  CHECK(LexicallyNormal("/a/..b/...") == "/a/..b/...");
}

TEST_CASE("the kernel's own file systems are not read, and files in shared memory are") {
  for (const char* path :
       {"/proc", "/proc/self/maps", "/sys/kernel", "/dev", "/dev/null", "/dev/shmem"}) {
    CHECK(IsNeverRead(path));
  }
  for (const char* path : {"/dev/shm", "/dev/shm/cuda/include/a.h", "/devices", "/processes/a.h"}) {
    CHECK_FALSE(IsNeverRead(path));
  }
}

namespace {

WorkerJob Job() {
  WorkerJob job;
  job.program_name = "/cccl-root-0/prog.cu";
  job.visible_working_directory = "/cccl-cwd";
  job.mounts = {{"/cccl-root-1", "/opt/cuda/include"}, {"/cccl-root-1/cccl", "/opt/cccl"}};
  return job;
}

std::string PathOf(const VisiblePaths& paths, std::string_view name) {
  const VisiblePaths::Place place = paths.Find(name);
  const auto* path = std::get_if<VisiblePaths::Path>(&place);
  return path != nullptr ? path->path : "";
}

bool MadeUp(const VisiblePaths& paths, std::string_view name) {
  const VisiblePaths::Place place = paths.Find(name);
  const auto* path = std::get_if<VisiblePaths::Path>(&place);
  return path != nullptr && path->made_up;
}

template <typename Kind>
bool Is(const VisiblePaths& paths, std::string_view name) {
  return std::holds_alternative<Kind>(paths.Find(name));
}

}  // namespace

TEST_CASE("a visible name is below its mount's directory") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job);
  CHECK(PathOf(paths, "/cccl-root-1//x/./y.h") == "/opt/cuda/include/x/y.h");
}

TEST_CASE("the longest mount applies, at a component boundary") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job);
  CHECK(PathOf(paths, "/cccl-root-1/cccl/x.h") == "/opt/cccl/x.h");
  CHECK(PathOf(paths, "/cccl-root-1/ccclx.h") == "/opt/cuda/include/ccclx.h");
  CHECK(PathOf(paths, "/cccl-root-10/x.h") == "/cccl-root-10/x.h");
}

TEST_CASE("a relative name is below the working directory") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job);
  CHECK(PathOf(paths, "inc/x.h") == "/cccl-cwd/inc/x.h");
  CHECK(PathOf(paths, "../x.h") == "/cccl-cwd/../x.h");
  CHECK(PathOf(paths, "./x.h") == "/cccl-cwd/x.h");
}

TEST_CASE("'..' in a visible name is kept for the look-up") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job);
  CHECK(PathOf(paths, "/cccl-root-1/a/../../b.h") == "/opt/cuda/include/a/../../b.h");
}

TEST_CASE("a name under no mount is unchanged") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job);
  CHECK(PathOf(paths, "/usr/include/x.h") == "/usr/include/x.h");
}

TEST_CASE("the toolchain's directories and the root exist, whatever the disk holds") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job);
  for (const char* name : {"/cccl-root-1", "/cccl-root-1/cccl", "/cccl-root-1//cccl/", "/"}) {
    INFO(name);
    CHECK(Is<VisiblePaths::Directory>(paths, name));
  }
}

TEST_CASE("two names of one directory have one inode, two directories have two") {
  WorkerJob job = Job();
  job.mounts.push_back({"/again", "/opt/cuda/include/"});
  const VisiblePaths paths(job);
  const auto inode = [&](std::string_view name) {
    return std::get<VisiblePaths::Directory>(paths.Find(name)).inode;
  };
  CHECK(inode("/again") == inode("/cccl-root-1"));
  CHECK(inode("/cccl-root-1/cccl") != inode("/cccl-root-1"));
}

TEST_CASE("NVRTC's names for texts in memory are recognised") {
  WorkerJob job = Job();
  job.headers = {{"inline.h", "x"}, {"sub/inline.h", "y"}};
  const VisiblePaths paths(job);
  for (const char* name : {"/cccl-root-0/prog.cu", "__nv_nvrtc_builtin_header.h", "__nv_name_map",
                           "inline.h", "/cccl-cwd/sub/inline.h", "default_program"}) {
    INFO(name);
    CHECK(MadeUp(paths, name));
  }
  CHECK_FALSE(MadeUp(paths, "/cccl-root-1/inline.h"));
}

TEST_CASE("the other compilers make up no names") {
  WorkerJob job = Job();
  job.kind = cccl_cache::BuildKind::kLink;
  CHECK_FALSE(MadeUp(VisiblePaths(job), "__nv_name_map"));
}

TEST_CASE("an empty or very long name is invalid") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job);
  CHECK(Is<VisiblePaths::Nowhere>(paths, ""));
  CHECK(Is<VisiblePaths::Nowhere>(paths, std::string(1 << 20, 'x')));
}

}  // namespace paths_test
