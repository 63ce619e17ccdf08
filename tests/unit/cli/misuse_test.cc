// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "cli/command.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace {

std::string Told(const std::vector<std::string>& words) {
  const Said said = RunCommand(words);
  CHECK(said.exit_code == 2);
  return said.errors;
}

}  // namespace

TEST_CASE("an unknown command is named with the nearest one, or with all") {
  CHECK(Told({"biuld"}).starts_with("cccl-cache-cli: no command is called biuld"));
  CHECK(Has(Told({"biuld"}), "build"));
  CHECK_FALSE(Has(Told({"biuld"}), "toolchains"));
  const std::string all = Told({"frobnicate"});
  CHECK(Has(all, "there are build, link, nvvm"));
  CHECK(Has(all, "(cccl-cache-cli --help)"));
}

TEST_CASE("an unknown command below another says below which") {
  const std::string told = Told({"snapshot", "creat"});
  CHECK(Has(told, "snapshot: no command is called creat"));
  CHECK(Has(told, "(cccl-cache-cli snapshot --help)"));
}

TEST_CASE("a missing command is asked for, with those there are") {
  CHECK(Has(Told({}), "name a command: build, link"));
  CHECK(Has(Told({"deposits"}), "name a command: list, remove"));
}

TEST_CASE("an unknown option is named without its value") {
  const std::string told = Told({"stats", "--openmetric=yes"});
  CHECK(Has(told, "stats knows no option --openmetric"));
  CHECK(Has(told, "--openmetrics"));
  CHECK_FALSE(Has(told, "--option="));
}

TEST_CASE("where a compiler is called, an unknown option may be meant for it") {
  const std::string told = Told({"build", "k.cu", "--arch", "sm_90", "--maxrregcount=32"});
  CHECK(Has(told, "one for the compiler is written --option=--maxrregcount=32"));
  CHECK(Has(told, "(cccl-cache-cli build --help)"));
}

TEST_CASE("a word too many is named, a wrong value speaks for itself") {
  CHECK(Has(Told({"stats", "now"}), "stats takes no argument now here"));
  CHECK(Has(Told({"build", "k.cu", "--arch", "sm_90", "--emit", "elf"}),
            "\"elf\" is not one of cubin, ptx"));
}
