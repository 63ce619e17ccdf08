// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace upkeep_commands_test {

namespace {

const std::string kKey(64, 'a');

}  // namespace

TEST_CASE("evict sends the selection, and prints the evicted size") {
  const FreshLibrary fresh;
  Library().evicted = 2;
  const Said said = RunCommand({"evict", kKey, "0123abcd"});
  CHECK(said.exit_code == 0);
  CHECK(said.output == "evicted 2 entries, 4.0 KiB\n");
  CHECK(said.errors.empty());
  CHECK(Library().arguments == std::vector<std::string>{"keys=" + kKey, "keys=0123abcd"});
  CHECK(RunCommand({"evict", "--older-than", "30d"}).exit_code == 0);
  CHECK(Library().arguments == std::vector<std::string>{"unused_s=2592000"});
  CHECK(RunCommand({"evict", "--toolchain", "89abcdef"}).exit_code == 0);
  CHECK(Library().arguments == std::vector<std::string>{"toolchain=89abcdef"});
  CHECK(RunCommand({"evict", "--all", "--yes"}, {.json = true}).output ==
        "{\n  \"format_version\": 1,\n  \"entries\": 2,\n  \"bytes\": 4096\n}\n");
  CHECK(Library().arguments == std::vector<std::string>{"all=true"});
}

TEST_CASE("evict without a filter, with two, or with an invalid one does not ask the daemon") {
  const FreshLibrary fresh;
  const std::vector<std::vector<std::string>> wrong = {
      {"evict"},
      {"evict", kKey, "--older-than", "30d"},
      {"evict", "--all", "--yes", "--toolchain", "89abcdef"},
      {"evict", "0123abc"},
      {"evict", "--older-than", "30"},
      {"evict", "--older-than", "0d"},
      {"evict", "--toolchain", "13"}};
  for (const auto& words : wrong) {
    CAPTURE(words);
    CHECK(RunCommand(words).exit_code == 2);
    CHECK(Library().called.empty());
  }
}

TEST_CASE("evict --all without --yes and without a terminal is a usage error") {
  const FreshLibrary fresh;
  const Said said = RunCommand({"evict", "--all"});
  CHECK(said.exit_code == 2);
  CHECK(Has(said.errors, "--yes"));
  CHECK(Library().called.empty());
}

TEST_CASE("evict reports a key without an entry") {
  const FreshLibrary fresh;
  const Said said = RunCommand({"evict", kKey});
  CHECK(said.exit_code == 4);
  CHECK(Has(said.errors, "no entry has this key"));
  CHECK(RunCommand({"evict", "--older-than", "30d"}).output == "evicted 0 entries, 0 bytes\n");
}

TEST_CASE("evict and verify print the reason of a refusal") {
  const FreshLibrary fresh;
  Library().failures = {{"evict", CCCL_CACHE_DENIED}, {"verify", CCCL_CACHE_DENIED}};
  CHECK(RunCommand({"evict", "--all", "--yes"}).exit_code == 4);
  CHECK(RunCommand({"verify"}).exit_code == 4);
}

TEST_CASE("verify ends with 1 if something was broken or unreadable") {
  const FreshLibrary fresh;
  Library().verified = 3;
  CHECK(RunCommand({"verify"}).output == "verified 3 entries, 2.0 KiB: all sound\n");
  CHECK(RunCommand({"verify"}).exit_code == 0);
  Library().broken = 1;
  const Said broken = RunCommand({"verify"});
  CHECK(broken.exit_code == 1);
  CHECK(broken.output == "verified 3 entries, 2.0 KiB: 1 broken, dropped\n");
  Library().broken = 0;
  Library().unreadable = 2;
  const Said unreadable = RunCommand({"verify"}, {.json = true});
  CHECK(unreadable.exit_code == 1);
  CHECK(Has(unreadable.output, "\"unreadable\": 2"));
}

}  // namespace upkeep_commands_test
