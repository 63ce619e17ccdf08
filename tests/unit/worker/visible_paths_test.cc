// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/visible_paths.h"

#include <catch2/catch.hpp>
#include <string>

using namespace cccl_cached;

namespace {

constexpr auto kLooksUp = VisiblePaths::Outside::kLooksUp;

WorkerJob Job() {
  WorkerJob job;
  job.program_name = "/cccl-root-0/prog.cu";
  job.visible_working_directory = "/cccl-cwd";
  job.working_directory = "/home/user";
  job.mounts = {{false, "/cccl-root-0", "/home/user/src"},
                {true, "/cccl-root-1", "/opt/cuda/include"},
                {true, "/cccl-root-1/cccl", "/opt/cccl"},
                {false, "/cccl-root-2", ""}};
  return job;
}

std::string PathOf(const VisiblePaths& paths, std::string_view name) {
  const VisiblePaths::Place place = paths.Find(name);
  const auto* path = std::get_if<VisiblePaths::Path>(&place);
  return path != nullptr ? path->path : "";
}

template <typename Kind>
bool Is(const VisiblePaths& paths, std::string_view name) {
  return std::holds_alternative<Kind>(paths.Find(name));
}

}  // namespace

TEST_CASE("a visible name lies where its mount says") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job, kLooksUp);
  CHECK(PathOf(paths, "/cccl-root-0/a/b.h") == "/home/user/src/a/b.h");
  CHECK(PathOf(paths, "/cccl-root-1//x/./y.h") == "/opt/cuda/include/x/y.h");
}

TEST_CASE("the longest mount wins, at a border of components") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job, kLooksUp);
  CHECK(PathOf(paths, "/cccl-root-1/cccl/x.h") == "/opt/cccl/x.h");
  CHECK(PathOf(paths, "/cccl-root-1/ccclx.h") == "/opt/cuda/include/ccclx.h");
  CHECK(PathOf(paths, "/cccl-root-10/x.h") == "/cccl-root-10/x.h");
}

TEST_CASE("a relative name lies in the working directory") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job, kLooksUp);
  CHECK(PathOf(paths, "inc/x.h") == "/home/user/inc/x.h");
  CHECK(PathOf(paths, "../x.h") == "/home/user/../x.h");
  CHECK(PathOf(paths, "./x.h") == "/home/user/x.h");
}

TEST_CASE("going up is left to the kernel") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job, kLooksUp);
  CHECK(PathOf(paths, "/cccl-root-0/a/../../b.h") == "/home/user/src/a/../../b.h");
}

TEST_CASE("a name under no mount is looked up as it is") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job, kLooksUp);
  CHECK(PathOf(paths, "/usr/include/x.h") == "/usr/include/x.h");
}

TEST_CASE("a mount without target holds nothing") {
  WorkerJob job = Job();
  CHECK(Is<VisiblePaths::Nowhere>(VisiblePaths(job, kLooksUp), "/cccl-root-2/x.h"));
  job.working_directory = "";
  CHECK(Is<VisiblePaths::Nowhere>(VisiblePaths(job, kLooksUp), "x.h"));
}

TEST_CASE("visible directories and their parents are there, whatever the disk says") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job, kLooksUp);
  for (const char* name :
       {"/cccl-root-0", "/cccl-root-1/cccl", "/cccl-root-2/", "/cccl-cwd", ".", "/"}) {
    INFO(name);
    CHECK(Is<VisiblePaths::Directory>(paths, name));
  }
}

TEST_CASE("two names of one directory have one inode, two directories have two") {
  WorkerJob job = Job();
  job.mounts.push_back({true, "/again", "/opt/cuda/include/"});
  const VisiblePaths paths(job, kLooksUp);
  const auto inode = [&](std::string_view name) {
    return std::get<VisiblePaths::Directory>(paths.Find(name)).inode;
  };
  CHECK(inode("/again") == inode("/cccl-root-1"));
  CHECK(inode("/cccl-root-0") != inode("/cccl-root-1"));
}

TEST_CASE("the names that NVRTC makes up for texts in memory are nowhere") {
  WorkerJob job = Job();
  job.headers = {{"inline.h", "x"}, {"sub/inline.h", "y"}};
  const VisiblePaths paths(job, kLooksUp);
  for (const char* name : {"/cccl-root-0/prog.cu", "__nv_nvrtc_builtin_header.h", "__nv_name_map",
                           "inline.h", "/cccl-cwd/sub/inline.h", "default_program"}) {
    INFO(name);
    CHECK(Is<VisiblePaths::Nowhere>(paths, name));
  }
  CHECK(PathOf(paths, "/cccl-root-1/inline.h") == "/opt/cuda/include/inline.h");
}

TEST_CASE("the other compilers make up no names") {
  WorkerJob job = Job();
  job.kind = cccl_cache::BuildKind::kLink;
  CHECK(PathOf(VisiblePaths(job, kLooksUp), "__nv_name_map") == "/home/user/__nv_name_map");
}

TEST_CASE("an empty or endless name is nowhere") {
  const WorkerJob job = Job();
  const VisiblePaths paths(job, kLooksUp);
  CHECK(Is<VisiblePaths::Nowhere>(paths, ""));
  CHECK(Is<VisiblePaths::Nowhere>(paths, std::string(1 << 20, 'x')));
}
