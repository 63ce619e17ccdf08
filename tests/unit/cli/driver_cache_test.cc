// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/driver_cache.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.h"

namespace driver_cache_test {

namespace {

using cccl_cache::cli::DriverMemory;

/// A driver that counts how often it is asked.
struct Scene {
  /// Asks as a command would that finds these surroundings.
  uint32_t Ask(const std::string& surroundings) {
    return DriverMemory(place, surroundings).Version([this] {
      ++asked;
      return version;
    });
  }

  void Damage(const std::string& contents) const { std::ofstream(place + "/driver") << contents; }

  cccl_cache::daemon::TemporaryDirectory directory;
  std::string place = directory.path() + "/cache/cccl-cache";
  uint32_t version = 13000;
  int asked = 0;
};

}  // namespace

TEST_CASE("the driver is loaded for its version once, as long as nothing around it changes") {
  Scene scene;
  CHECK(scene.Ask("one start") == 13000);
  scene.version = 13010;
  CHECK(scene.Ask("one start") == 13000);
  CHECK(scene.asked == 1);
  CHECK(scene.Ask("another start") == 13010);
  CHECK(scene.Ask("another start") == 13010);
  CHECK(scene.asked == 2);
}

TEST_CASE("a driver that can't be asked is asked again") {
  Scene scene;
  scene.version = 0;
  CHECK(scene.Ask("one start") == 0);
  scene.version = 12040;
  CHECK(scene.Ask("one start") == 12040);
  CHECK(scene.asked == 2);
}

TEST_CASE("another library that is loaded before all others may be another driver") {
  Scene scene;
  setenv("XDG_CACHE_HOME", scene.directory.path().c_str(), 1);
  const auto ask = [&](const char* preloaded) {
    setenv("LD_PRELOAD", preloaded, 1);
    return DriverMemory::OfThisProcess().Version([&] { return scene.version + ++scene.asked; });
  };
  CHECK(ask("/a/libcuda.so.1") == 13001);
  CHECK(ask("/a/libcuda.so.1") == 13001);
  CHECK(ask("/b/libcuda.so.1") == 13002);
  unsetenv("LD_PRELOAD");
  unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("a text that is not a version is not taken for one") {
  Scene scene;
  scene.Ask("one start");
  for (const char* contents : {"", "13000", "one start", "-1\none start", "99999999999\none start",
                               "13000 \none start", "13000\none start and more", "0\none start"}) {
    INFO(contents);
    scene.Damage(contents);
    scene.asked = 0;
    CHECK(scene.Ask("one start") == 13000);
    CHECK(scene.asked == 1);
  }
}

TEST_CASE("a place that can't be written to costs a question each time, and nothing else") {
  Scene scene;
  scene.Ask("one start");
  scene.place += "/driver/beneath/a/file";
  scene.asked = 0;
  CHECK(scene.Ask("one start") == 13000);
  CHECK(scene.Ask("one start") == 13000);
  CHECK(scene.asked == 2);
}

TEST_CASE("a directory that others can write to is not asked, and nothing is put there") {
  Scene scene;
  std::filesystem::create_directories(scene.place);
  std::filesystem::permissions(scene.place, std::filesystem::perms::all);
  scene.Damage("12000\none start");
  CHECK(scene.Ask("one start") == 13000);
  CHECK(scene.Ask("another start") == 13000);
  CHECK(scene.asked == 2);
}

TEST_CASE("the target of a link in its place stays as it is") {
  Scene scene;
  const std::string other = scene.directory.Write("other", "precious");
  std::filesystem::create_directories(scene.place);
  std::filesystem::permissions(scene.place, std::filesystem::perms::owner_all);
  std::filesystem::create_symlink(other, scene.place + "/driver");
  CHECK(scene.Ask("one start") == 13000);
  std::string contents;
  std::ifstream(other) >> contents;
  CHECK(contents == "precious");
}

}  // namespace driver_cache_test
