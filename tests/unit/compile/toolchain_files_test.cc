// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/toolchain_files.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace toolchain_files_test {

using namespace cccl_cache::daemon;

namespace fs = std::filesystem;

namespace {

/// Finds no file, and records the names.
class Others final : public JobFiles {
 public:
  Result<FileAnswer> Ask(std::string_view name) override {
    asked.emplace_back(name);
    return FileAnswer{};
  }
  Status LookInToolchain(std::string_view name) override {
    looked_in.emplace_back(name);
    return Ok{};
  }
  std::vector<std::string> asked;
  std::vector<std::string> looked_in;  ///< names of look-ups in the toolchain
};

struct Scene {
  TemporaryDirectory directory;
  std::string root = fs::canonical(directory.path()).string();
  std::string headers = root + "/cuda/include";
  std::shared_ptr<Others> others = std::make_shared<Others>();

  Scene() {
    Write(headers + "/cuda.h", "the header");
    Write(headers + "/cub/cub.cuh", "cub");
    Write(root + "/store/linked.h", "linked");
    Write(root + "/secret", "secret");
  }

  static void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }

  [[nodiscard]] ToolchainFiles Files() const {
    auto toolchain = std::make_shared<Toolchain>();
    toolchain->contents = std::make_shared<const ToolchainHeaders>(
        std::vector<ToolchainHeaders::File>{},
        std::vector<ToolchainHeaders::Directory>{{headers, "0"}}, false);
    CompileJob job;
    job.toolchain = std::move(toolchain);
    job.mounts = {{"/cccl-root-0", root, false}, {"/cccl-root-1", headers, true}};
    job.files = others;
    return ToolchainFiles(job);
  }
};

std::string ContentsOf(ToolchainFiles& files, const std::string& name) {
  const Result<FileAnswer> answer = files.Ask(name);
  REQUIRE(answer.ok());
  return answer->kind == FileKind::kFile ? *answer->contents : "no file";
}

}  // namespace

TEST_CASE("the toolchain's headers are found under their real and canonical names") {
  const Scene scene;
  ToolchainFiles files = scene.Files();
  CHECK(ContentsOf(files, scene.headers + "/cuda.h") == "the header");
  CHECK(ContentsOf(files, "/cccl-root-1/cuda.h") == "the header");
  CHECK(ContentsOf(files, "/cccl-root-1/cub/../cuda.h") == "the header");
  CHECK(files.Ask("/cccl-root-1/cub")->kind == FileKind::kDirectory);
  CHECK(files.Ask("/cccl-root-1/absent.h")->kind == FileKind::kAbsent);
  CHECK(scene.others->asked.empty());
  // A worker that opens the files itself announces the same names.
  CHECK(scene.others->looked_in ==
        std::vector<std::string>{scene.headers + "/cuda.h", "/cccl-root-1/cuda.h",
                                 "/cccl-root-1/cub/../cuda.h", "/cccl-root-1/cub",
                                 "/cccl-root-1/absent.h"});
}

TEST_CASE("the job's files are not asked about a missing name inside the toolchain") {
  const Scene scene;
  ToolchainFiles files = scene.Files();
  const std::vector<std::string> names = {
      "/cccl-root-1/cub/../absent.h", "/cccl-root-1/cub/../absent/x.h",
      "/cccl-root-1/absent/../cuda.h", "/cccl-root-1/cub/..hidden/../x.h"};
  for (const std::string& name : names) {
    INFO(name);
    CHECK(files.Ask(name)->kind == FileKind::kAbsent);
  }
  CHECK(scene.others->asked.empty());
  CHECK(scene.others->looked_in == names);
}

TEST_CASE("two names of one header have one identity, and no other file has it") {
  const Scene scene;
  fs::create_hard_link(scene.headers + "/cuda.h", scene.headers + "/again.h");
  ToolchainFiles files = scene.Files();
  const uint64_t identity = files.Ask("/cccl-root-1/cuda.h")->identity;
  CHECK(identity != 0);
  CHECK(files.Ask("/cccl-root-1/again.h")->identity == identity);
  CHECK(files.Ask("/cccl-root-1/cub/cub.cuh")->identity != identity);
}

TEST_CASE("the target of a toolchain's symlink counts as the toolchain's file") {
  const Scene scene;
  fs::create_directory_symlink(scene.root + "/store", scene.headers + "/store");
  ToolchainFiles files = scene.Files();
  CHECK(ContentsOf(files, "/cccl-root-1/store/linked.h") == "linked");
  CHECK(scene.others->asked.empty());
}

TEST_CASE("a file outside the toolchain is answered by the job's files") {
  const Scene scene;
  fs::create_directory_symlink(scene.root + "/store", scene.headers + "/store");
  ToolchainFiles files = scene.Files();
  const std::vector<std::string> names = {"/etc/passwd",
                                          "/cccl-root-0/secret",
                                          "/cccl-root-10/cuda.h",
                                          scene.root + "/secret",
                                          scene.headers + "x/cuda.h",
                                          scene.headers + "/../../secret",
                                          "/cccl-root-1/../../secret",
                                          "/cccl-root-1/..",
                                          "/cccl-root-1/../include/cuda.h",
                                          "/cccl-root-1/store/../secret",
                                          "/cccl-root-1/store/../absent",
                                          "/cccl-root-1/__pycache__/x.h"};
  for (const std::string& name : names) {
    INFO(name);
    CHECK(ContentsOf(files, name) == "no file");
  }
  CHECK(scene.others->asked == names);
}

TEST_CASE("a FIFO in the toolchain is absent, and an oversized file is an error") {
  const Scene scene;
  REQUIRE(mkfifo((scene.headers + "/fifo").c_str(), 0644) == 0);
  Scene::Write(scene.headers + "/huge", "");
  fs::resize_file(scene.headers + "/huge", 1ull << 40);
  ToolchainFiles files = scene.Files();
  CHECK(files.Ask("/cccl-root-1/fifo")->kind == FileKind::kAbsent);
  CHECK_FALSE(files.Ask("/cccl-root-1/huge").ok());
}

TEST_CASE("a job without files of its own finds only the toolchain's") {
  Scene scene;
  scene.others = nullptr;
  ToolchainFiles files = scene.Files();
  CHECK(ContentsOf(files, "/cccl-root-1/cuda.h") == "the header");
  CHECK(files.Ask("/etc/passwd")->kind == FileKind::kAbsent);
}

}  // namespace toolchain_files_test
