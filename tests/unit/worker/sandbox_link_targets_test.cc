// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "daemon/worker/sandbox/sandbox.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon::sandbox_link_targets_test {
namespace {

namespace fs = std::filesystem;
using Places = std::vector<std::string>;

struct Scene {
  Scene() {
    fs::create_directories(directory / "cuda");
    directory.Write("elsewhere/deep/file.h", "");
  }
  /// Adds an entry of the installation that links to `target`.
  void Link(const std::string& name, const std::string& target) const {
    fs::create_symlink(target, directory / "cuda/" + name);
  }
  [[nodiscard]] Places Found() const { return WithLinkTargets({directory / "cuda"}); }

  TemporaryDirectory directory;
};

TEST_CASE("directories without links are unchanged") {
  const Scene scene;
  scene.directory.Write("cuda/include/a.h", "");
  CHECK(scene.Found() == Places{scene.directory / "cuda"});
  CHECK(WithLinkTargets({scene.directory / "absent"}) == Places{scene.directory / "absent"});
}

TEST_CASE("the targets of links are added by their real paths, files and directories") {
  const Scene scene;
  scene.Link("file", "../elsewhere/deep/file.h");
  CHECK(scene.Found() ==
        Places{scene.directory / "cuda", scene.directory / "elsewhere/deep/file.h"});
  const Scene other;
  other.Link("directory", other.directory / "elsewhere/./deep");
  CHECK(other.Found() == Places{other.directory / "cuda", other.directory / "elsewhere/deep"});
}

TEST_CASE("links in targets of links are followed, even in a circle") {
  const Scene scene;
  scene.Link("directory", scene.directory / "elsewhere");
  scene.directory.Write("third/a.h", "");
  fs::create_symlink(scene.directory / "third", scene.directory / "elsewhere/on");
  fs::create_symlink(scene.directory / "cuda", scene.directory / "third/back");
  CHECK(scene.Found() ==
        Places{scene.directory / "cuda", scene.directory / "elsewhere", scene.directory / "third"});
}

TEST_CASE("a link that leads inside, nowhere, or to the root adds nothing") {
  const Scene scene;
  scene.directory.Write("cuda/include/a.h", "");
  scene.Link("inside", "include");
  scene.Link("nowhere", scene.directory / "absent");
  scene.Link("circle", "circle");
  scene.Link("all", "/");
  CHECK(scene.Found() == Places{scene.directory / "cuda"});
}

TEST_CASE("files of /proc, /dev and /sys are never added") {
  const Scene scene;
  scene.Link("process", "/proc/self");
  scene.Link("devices", "/dev");
  scene.Link("system", "/sys/kernel");
  CHECK(scene.Found() == Places{scene.directory / "cuda"});
}

}  // namespace
}  // namespace cccl_cache::daemon::sandbox_link_targets_test
