// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/driver.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.h"

namespace driver_test {

namespace {

/// A driver that counts how often it is asked.
struct Scene {
  Scene() { setenv("XDG_CACHE_HOME", directory.path().c_str(), 1); }
  ~Scene() {
    unsetenv("LD_PRELOAD");
    unsetenv("XDG_CACHE_HOME");
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  uint32_t Ask() {
    return cccl_cache::cli::KeptDriverVersion([this] {
      ++asked;
      return version;
    });
  }

  cccl_cache::daemon::TemporaryDirectory directory;
  uint32_t version = 13000;
  int asked = 0;
};

}  // namespace

TEST_CASE("the driver's version is kept until another library could be the driver") {
  Scene scene;
  CHECK(scene.Ask() == 13000);
  scene.version = 13010;
  CHECK(scene.Ask() == 13000);
  CHECK(scene.asked == 1);
  setenv("LD_PRELOAD", "/a/libcuda.so.1", 1);
  CHECK(scene.Ask() == 13010);
  CHECK(scene.Ask() == 13010);
  CHECK(scene.asked == 2);
}

TEST_CASE("a failed query of the driver is repeated the next time") {
  Scene scene;
  scene.version = 0;
  CHECK(scene.Ask() == 0);
  scene.version = 12040;
  CHECK(scene.Ask() == 12040);
  CHECK(scene.asked == 2);
}

TEST_CASE("a kept text that is no version is ignored, and the driver is asked") {
  Scene scene;
  scene.Ask();
  const std::filesystem::directory_iterator kept(scene.directory / "cccl-cache/driver-versions");
  for (const char* contents : {"", "-1", "99999999999", "13010 ", "0", "version"}) {
    INFO(contents);
    std::ofstream(kept->path()) << contents;
    scene.asked = 0;
    CHECK(scene.Ask() == 13000);
    CHECK(scene.asked == 1);
  }
}

}  // namespace driver_test
