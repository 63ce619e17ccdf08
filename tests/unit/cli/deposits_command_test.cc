// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace deposits_command_test {

namespace {

const std::string kA(64, 'a');
const std::string kB(64, 'b');
const std::string kC(64, 'c');
const std::string kD(64, 'd');

struct Scene {
  Scene() {
    Library() = FakeLibrary();
    Library().deposits = {{kA, "org.example.a", std::nullopt, 5}, {kB, "org.example.b", 7, 6}};
  }
};

}  // namespace

TEST_CASE("deposits list has a line for each deposit, with its group if it has one") {
  const Scene scene;
  const std::string text = RunCommand({"deposits", "list"}).output;
  CHECK(text.starts_with(kA + "  2001-09-0"));
  CHECK(Has(text, "  5  org.example.a\n" + kB + "  "));
  CHECK(Has(text, "  6  org.example.b  group 7\n"));
}

TEST_CASE("a namespace can't change how the terminal shows the deposits list") {
  const Scene scene;
  Library().deposits = {{kA, "\x1b[2J", std::nullopt, 5}};
  CHECK(Has(RunCommand({"deposits", "list"}).output, "  5  ?[2J\n"));
}

TEST_CASE("an empty deposits list is a sentence, and in JSON an empty list") {
  const FreshLibrary fresh;
  CHECK(RunCommand({"deposits", "list"}).output == "no deposits\n");
  CHECK(RunCommand({"deposits", "list"}, {.json = true}).output ==
        "{\n  \"format_version\": 1,\n  \"deposits\": []\n}\n");
}

TEST_CASE("deposits list as JSON has a gid only for a group's deposit") {
  const Scene scene;
  const std::string text = RunCommand({"deposits", "list"}, {.json = true}).output;
  CHECK(Has(text, "\"gid\": 7"));
  CHECK(text.find("\"gid\"") == text.rfind("\"gid\""));
  CHECK(Has(text, "\"made_at\": 1000000000"));
}

TEST_CASE("deposits remove prints how many it removed, and as JSON their keys") {
  const Scene scene;
  const Said said = RunCommand({"deposits", "remove", kA, kB});
  CHECK(said.exit_code == 0);
  CHECK(said.output == "removed 2 deposits\n");
  CHECK(RunCommand({"deposits", "remove", kA}).output == "removed 1 deposit\n");
  CHECK(RunCommand({"deposits", "remove", kA}, {.json = true}).output ==
        "{\n  \"format_version\": 1,\n  \"removed\": [\n    \"" + kA + "\"\n  ]\n}\n");
}

TEST_CASE("deposits remove continues after an unknown key, and names it") {
  const Scene scene;
  const Said said = RunCommand({"deposits", "remove", kC, kA, kD}, {.json = true});
  CHECK(said.exit_code == 4);
  CHECK(Has(said.errors, "no deposit " + kC));
  CHECK(Has(said.errors, "no deposit " + kD));
  CHECK(Has(said.output, "\"removed\": [\n    \"" + kA + "\"\n  ]"));
  CHECK(Has(said.output, "\"error\": {"));
}

TEST_CASE("deposits remove accepts a key's first digits if no other key begins with them") {
  const Scene scene;
  const std::string twin = std::string(9, 'a') + std::string(55, '0');
  Library().deposits.push_back({twin, "org.example.a", std::nullopt, 5});
  const Said unclear = RunCommand({"deposits", "remove", kA.substr(0, 9)}, {.json = true});
  CHECK(unclear.exit_code == 4);
  CHECK(Has(unclear.errors, "2 deposits of yours begin with aaaaaaaaa"));
  CHECK(Has(unclear.output, "\"removed\": []"));
  const Said clear =
      RunCommand({"deposits", "remove", kA.substr(0, 10), kB.substr(0, 8)}, {.json = true});
  CHECK(clear.exit_code == 0);
  CHECK(Has(clear.output, kA));
  CHECK(Has(clear.output, kB));
  CHECK_FALSE(Has(clear.output, twin));
}

TEST_CASE("deposits remove refuses too few digits, and malformed keys") {
  const Scene scene;
  for (const char* wrong : {"aaaaaaa", "no-key"}) {
    const Said said = RunCommand({"deposits", "remove", wrong});
    CHECK(said.exit_code == 4);
    CHECK(Has(said.errors, wrong));
    CHECK(Library().called == "list_deposits");
  }
}

TEST_CASE("deposits prints the daemon's error") {
  const Scene scene;
  Library().failures = {{"list_deposits", CCCL_CACHE_UNAVAILABLE},
                        {"remove_deposit", CCCL_CACHE_DENIED}};
  CHECK(RunCommand({"deposits", "list"}).exit_code == 5);
  CHECK(RunCommand({"deposits", "remove", kA}).exit_code == 5);
  Library().failures.erase("list_deposits");
  CHECK(RunCommand({"deposits", "remove", kA}).exit_code == 4);
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  CHECK(RunCommand({"deposits", "list"}).exit_code == 3);
  CHECK(RunCommand({"deposits", "remove", kA}).exit_code == 3);
}

}  // namespace deposits_command_test
