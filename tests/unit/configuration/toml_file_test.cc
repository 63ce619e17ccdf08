// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/configuration/load.h"
#include "tests/unit/configuration/temporary_file.h"

using namespace cccl_cache::daemon;

namespace {

std::string ErrorOf(const TemporaryFile& file) {
  const auto assignments = ReadTomlFile(file.path());
  REQUIRE_FALSE(assignments.ok());
  return assignments.error().message;
}

}  // namespace

TEST_CASE("a file gives its settings with their lines") {
  const TemporaryFile file(
      "# comment\nsocket = \"/s\"\n\njobs = 3\ntoolchain_root = [\"/a\", \"/b\"]\n");
  const auto assignments = ReadTomlFile(file.path());
  REQUIRE(assignments.ok());
  REQUIRE(assignments->size() == 3);
  for (const Assignment& assignment : *assignments) {
    if (assignment.setting->name == "jobs") {
      CHECK(assignment.texts == std::vector<std::string>{"3"});
      CHECK(assignment.origin == file.path() + ":4");
    } else if (assignment.setting->name == "toolchain_root") {
      CHECK(assignment.texts == std::vector<std::string>{"/a", "/b"});
    }
  }
}

TEST_CASE("an empty file sets nothing") {
  const TemporaryFile file("");
  const auto assignments = ReadTomlFile(file.path());
  REQUIRE(assignments.ok());
  CHECK(assignments->empty());
}

TEST_CASE("an unknown key names its line and the nearest known key") {
  const TemporaryFile file("jobs = 3\nsocket_mod = \"0600\"\n");
  CHECK(ErrorOf(file) == file.path() + ":2: unknown key socket_mod; did you mean socket_mode?");
}

TEST_CASE("a value of the wrong type names its line and what to write") {
  const TemporaryFile quoted("jobs = \"3\"\n");
  CHECK(ErrorOf(quoted) == quoted.path() + ":1: jobs: write a number");
  const TemporaryFile bare("\nsocket_mode = 600\n");
  CHECK(ErrorOf(bare) == bare.path() + ":2: socket_mode: write a string in quotes");
  const TemporaryFile list("toolchain_root = [\"/a\", 1]\n");
  CHECK(ErrorOf(list).find("array of them") != std::string::npos);
  const TemporaryFile table("[jobs]\n");
  CHECK(ErrorOf(table).find(":1: jobs: write a number") != std::string::npos);
}

TEST_CASE("a file that is not TOML names the line") {
  const TemporaryFile file("jobs = 3\nsocket = /run\n");
  CHECK(ErrorOf(file).find(file.path() + ":2: ") == 0);
}

TEST_CASE("a file that can't be read says why") {
  const auto missing = ReadTomlFile("/nonexistent/config.toml");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message.find("No such file") != std::string::npos);
  const auto directory = ReadTomlFile("/");
  REQUIRE_FALSE(directory.ok());
  CHECK(directory.error().message.find("directory") != std::string::npos);
}
