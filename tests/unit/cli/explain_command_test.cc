// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace {

const std::string kKey(64, 'a');

}  // namespace

TEST_CASE("explain with a key asks the daemon about that key") {
  const FreshLibrary fresh;
  Library().explanation.verdict = CCCL_CACHE_VERDICT_UNKNOWN_KEY;
  const Said said = RunCommand({"explain", kKey}, {.socket = "/s"});
  CHECK(said.exit_code == 0);
  CHECK(Library().name == kKey);
  CHECK(Library().socket == "/s");
  CHECK(Has(said.output, "no build of yours that the daemon remembers has this key"));
}

TEST_CASE("explain leaves it to the daemon which key begins with some digits") {
  const FreshLibrary fresh;
  CHECK(RunCommand({"explain", "00ff00ff"}).exit_code == 0);
  CHECK(Library().name == "00ff00ff");
}

TEST_CASE("explain says what is wrong with a key before it asks anybody") {
  const FreshLibrary fresh;
  CHECK(Has(RunCommand({"explain", "00ff"}).errors, "\"00ff\" has 4 of a key's 64 digits"));
  CHECK(Has(RunCommand({"explain", "k.cu"}).errors, "\"k.cu\" is no key"));
  const Said none = RunCommand({"explain"});
  CHECK(none.exit_code == 2);
  CHECK(Has(none.errors, "explain -- build kernel.cu --arch sm_90"));
  CHECK(Library().called.empty());
}

TEST_CASE("explain passes on why there is no answer") {
  const FreshLibrary fresh;
  Library().failures = {{"explain_key", CCCL_CACHE_UNAVAILABLE}};
  CHECK(RunCommand({"explain", kKey}).exit_code == 5);
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  CHECK(RunCommand({"explain", kKey}).exit_code == 3);
}
