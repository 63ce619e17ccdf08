// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

TEST_CASE("stats prints one of three formats") {
  const FreshLibrary fresh;
  Library().statistics = {{"compiles_total", "", 2}};
  CHECK(Has(RunCommand({"stats"}).output, "hit rate"));
  CHECK(RunCommand({"stats"}, {.json = true}).output.starts_with("{\n  \"compiles_total\": 2"));
  CHECK(Has(RunCommand({"stats", "--openmetrics"}).output, "# EOF\n"));
}

TEST_CASE("stats shows the counters though the daemon does not say whether it has a problem") {
  const FreshLibrary fresh;
  Library().statistics = {{"compiles_total", "", 2}};
  Library().failures = {{"get_info", CCCL_CACHE_OVERLOADED}};
  const Said said = RunCommand({"stats"});
  CHECK(said.exit_code == 0);
  CHECK(Has(said.output, "2 compiled"));
  CHECK(Has(said.output, "Problem   not known: get_info failed"));
}

TEST_CASE("stats refuses two formats at once, and asks nobody") {
  const FreshLibrary fresh;
  const Said said = RunCommand({"stats", "--openmetrics"}, {.json = true});
  CHECK(said.exit_code == 2);
  CHECK(Has(said.errors, "--json and --openmetrics exclude each other"));
  CHECK(Library().called.empty());
}

TEST_CASE("stats passes on why there is no answer") {
  const FreshLibrary fresh;
  Library().failures = {{"get_stats", CCCL_CACHE_DENIED}};
  CHECK(RunCommand({"stats"}).exit_code == 4);
  Library().failures = {{"open", CCCL_CACHE_NO_DAEMON}};
  CHECK(RunCommand({"stats"}).exit_code == 3);
}
