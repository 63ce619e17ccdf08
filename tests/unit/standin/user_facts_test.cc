// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/user_facts.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_directory.h"

namespace cccl_cache::standin::user_facts_test {

TEST_CASE(
    "a fact is kept beside the draft that a process of another node with this number writes") {
  const daemon::TemporaryDirectory runtime;
  setenv("XDG_RUNTIME_DIR", runtime.path().c_str(), 1);
  const UserFacts facts;
  unsetenv("XDG_RUNTIME_DIR");
  REQUIRE(facts.kept());
  const std::string others = "cccl-cache/fact." + std::to_string(getpid());
  runtime.Write(others, "half of");
  facts.Put("fact", "one");
  CHECK(facts.Get("fact") == "one");
  facts.Put("fact", "two");
  CHECK(facts.Get("fact") == "two");
  std::ifstream draft(runtime / others);
  CHECK(std::string(std::istreambuf_iterator<char>(draft), {}) == "half of");
  // No draft of its own is left.
  const std::filesystem::directory_iterator files(runtime / "cccl-cache");
  CHECK(std::distance(begin(files), end(files)) == 2);
}

}  // namespace cccl_cache::standin::user_facts_test
