// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace {

struct Scene {
  Scene() {
    Library() = FakeLibrary();
    Library().deposits = {{"aa", "org.example.a", std::nullopt, 5}, {"bb", "org.example.b", 7, 6}};
  }
};

}  // namespace

TEST_CASE("deposits list has a line for each, with the group where there is one") {
  const Scene scene;
  const std::string text = RunCommand({"deposits", "list"}).output;
  CHECK(text.starts_with("aa  2001-09-0"));
  CHECK(Has(text, "  5  org.example.a\nbb  "));
  CHECK(Has(text, "  6  org.example.b  group 7\n"));
}

TEST_CASE("deposits list says that there are none, in JSON by an empty list") {
  const FreshLibrary fresh;
  CHECK(RunCommand({"deposits", "list"}).output == "no deposits\n");
  CHECK(RunCommand({"deposits", "list"}, {.json = true}).output == "{\n  \"deposits\": []\n}\n");
}

TEST_CASE("deposits list as JSON has a gid only where a group may have it") {
  const Scene scene;
  const std::string text = RunCommand({"deposits", "list"}, {.json = true}).output;
  CHECK(Has(text, "\"gid\": 7"));
  CHECK(text.find("\"gid\"") == text.rfind("\"gid\""));
  CHECK(Has(text, "\"made_at\": 1000000000"));
}

TEST_CASE("deposits remove is silent, and lists as JSON what is gone") {
  const Scene scene;
  const Said said = RunCommand({"deposits", "remove", "aa", "bb"});
  CHECK(said.exit_code == 0);
  CHECK(said.output.empty());
  CHECK(RunCommand({"deposits", "remove", "aa"}, {.json = true}).output ==
        "{\n  \"removed\": [\n    \"aa\"\n  ]\n}\n");
}

TEST_CASE("deposits remove goes on behind a key that nobody knows, and names it") {
  const Scene scene;
  const Said said = RunCommand({"deposits", "remove", "cc", "aa", "dd"}, {.json = true});
  CHECK(said.exit_code == 4);
  CHECK(Has(said.errors, "you have no deposit cc, dd: see deposits list"));
  CHECK(Has(said.output, "\"removed\": [\n    \"aa\"\n  ]"));
  CHECK(Has(said.output, "\"error\": {"));
}

TEST_CASE("deposits passes on why there is no answer") {
  const Scene scene;
  Library().failures = {{"list_deposits", CCCL_CACHE_UNAVAILABLE},
                        {"remove_deposit", CCCL_CACHE_DENIED}};
  CHECK(RunCommand({"deposits", "list"}).exit_code == 5);
  CHECK(RunCommand({"deposits", "remove", "aa"}).exit_code == 4);
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  CHECK(RunCommand({"deposits", "list"}).exit_code == 3);
  CHECK(RunCommand({"deposits", "remove", "aa"}).exit_code == 3);
}
