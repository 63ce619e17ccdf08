// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/style.h"

#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "cli/terminal/user_names.h"

namespace cccl_cache::cli::style_test {
namespace {

TEST_CASE("colours go to terminals that have them, unless NO_COLOR is set") {
  int person = -1;
  int terminal = -1;
  REQUIRE(openpty(&person, &terminal, nullptr, nullptr, nullptr) == 0);
  unsetenv("NO_COLOR");
  setenv("TERM", "xterm", 1);
  CHECK(WantsColour(terminal));
  setenv("TERM", "dumb", 1);
  CHECK_FALSE(WantsColour(terminal));
  unsetenv("TERM");
  CHECK_FALSE(WantsColour(terminal));
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(WantsColour(terminal));
  setenv("NO_COLOR", "", 1);
  CHECK(WantsColour(terminal));
  close(person);
  close(terminal);
  int pipe_ends[2] = {};
  REQUIRE(pipe(pipe_ends) == 0);
  CHECK_FALSE(WantsColour(pipe_ends[1]));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST_CASE("a role has the look of the table only if colours are wanted") {
  CHECK(Painted("a hit", Role::kGood, true) == "\033[32ma hit\033[0m");
  CHECK(Painted("a title", Role::kTitle, true) == "\033[1ma title\033[0m");
  CHECK(Painted("text", Role::kPlain, true) == "text");
  CHECK(Painted("a hit", Role::kGood, false) == "a hit");
}

TEST_CASE("a label that is no uid of this system stays") {
  const NameOfUser name_of = NamesOfThisSystem();
  CHECK(name_of("0") == "root");
  CHECK(name_of("container-3") == "container-3");
  CHECK(name_of("3999999999") == "3999999999");
  CHECK(name_of("99999999999") == "99999999999");
  CHECK(name_of("") == "");
  CHECK(UserLabel(1000) == "1000");
  CHECK(UserLabel(0x80000003) == "c3");
}

}  // namespace
}  // namespace cccl_cache::cli::style_test
