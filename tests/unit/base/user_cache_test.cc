// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/user_cache.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.h"

namespace cccl_cache::user_cache_test {
namespace fs = std::filesystem;

namespace {

constexpr const char* kName = "toolchain/files";

struct Scene {
  [[nodiscard]] auto Files() const {
    const fs::directory_iterator files(place);
    return std::distance(begin(files), end(files));
  }

  daemon::TemporaryDirectory directory;
  std::string place = directory / "cache/values";
  std::string file = place + "/toolchain-files";
  UserCache cache{place, 2};
};

}  // namespace

TEST_CASE("the next process finds a value, and a later value replaces it") {
  const Scene scene;
  const std::string value("\0 and more", 10);
  CHECK_FALSE(scene.cache.Get(kName));
  CHECK_FALSE(fs::exists(scene.place));
  scene.cache.Put(kName, value);
  CHECK(UserCache(scene.place, 2).Get(kName) == value);
  CHECK_FALSE(scene.cache.Get("other"));
  scene.cache.Put(kName, "other");
  CHECK(scene.cache.Get(kName) == "other");
  CHECK(scene.Files() == 1);  // no drafts are left
  CHECK(scene.cache.Age(kName) < std::chrono::minutes(1));
  scene.cache.Remove(kName);
  CHECK_FALSE(scene.cache.Get(kName));
  CHECK_FALSE(scene.cache.Age(kName));
}

TEST_CASE("the directories of values are private to the user, and none above them are made") {
  const Scene scene;
  scene.cache.Put(kName, "value");
  for (const fs::path& own : {fs::path(scene.place), fs::path(scene.place).parent_path()}) {
    CHECK(fs::status(own).permissions() == fs::perms::owner_all);
  }
  const UserCache deeper(scene.directory / "no/home/values", 2);
  CHECK_FALSE(deeper.Keeps());
  deeper.Put(kName, "value");
  CHECK_FALSE(fs::exists(scene.directory / "no"));
}

TEST_CASE("values that others could have written are ignored, and none are stored there") {
  const Scene scene;
  scene.cache.Put(kName, "value");
  fs::permissions(scene.file, fs::perms::others_write, fs::perm_options::add);
  CHECK_FALSE(scene.cache.Get(kName));
  fs::permissions(scene.file, fs::perms::others_write, fs::perm_options::remove);
  CHECK(scene.cache.Get(kName));
  fs::permissions(scene.place, fs::perms::group_write, fs::perm_options::add);
  CHECK_FALSE(scene.cache.Get(kName));
  CHECK_FALSE(scene.cache.Keeps());
  scene.cache.Put("other", "value");
  CHECK(scene.Files() == 1);
}

TEST_CASE("links, directories and huge files are not read as values") {
  const Scene scene;
  scene.cache.Put(kName, "value");
  fs::resize_file(scene.file, 5'000'000);
  CHECK_FALSE(scene.cache.Get(kName));
  fs::remove(scene.file);
  const std::string target = scene.directory.Write("target", "value");
  fs::create_symlink(target, scene.file);
  CHECK_FALSE(scene.cache.Get(kName));
  scene.cache.Put(kName, "other");
  CHECK(scene.cache.Get(kName) == "other");
  CHECK(fs::file_size(target) == 5);  // unchanged
  fs::remove(scene.file);
  fs::create_directory(scene.file);
  CHECK_FALSE(scene.cache.Get(kName));
}

TEST_CASE("no values are kept in a symlinked directory or without a home") {
  const Scene scene;
  fs::create_directories(scene.directory / "elsewhere");
  fs::create_symlink(scene.directory / "elsewhere", scene.directory / "link");
  for (const std::string& place : {scene.directory / "link", std::string()}) {
    const UserCache cache(place, 1);
    CHECK_FALSE(cache.Keeps());
    cache.Put(kName, "value");
    CHECK_FALSE(cache.Get(kName));
  }
  CHECK(fs::is_empty(scene.directory / "elsewhere"));
}

TEST_CASE("above the limit the oldest files are removed, but no directories") {
  const Scene scene;
  scene.cache.Put("oldest", "value");
  fs::create_directory(scene.place + "/directory");
  const auto past = fs::file_time_type::clock::now() - std::chrono::hours(2);
  fs::last_write_time(scene.place + "/oldest", past);
  for (int i = 0; i < 511; ++i) {
    std::ofstream(scene.place + "/" + std::to_string(i));
    fs::last_write_time(scene.place + "/" + std::to_string(i), past + std::chrono::hours(1));
  }
  scene.cache.Put(kName, "value");
  CHECK(scene.cache.Get(kName));
  CHECK_FALSE(scene.cache.Get("oldest"));
  CHECK(scene.Files() == 513);
}

}  // namespace cccl_cache::user_cache_test
