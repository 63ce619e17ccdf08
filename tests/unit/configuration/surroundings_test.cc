// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "daemon/configuration/configuration.h"

namespace cccl_cache::daemon::surroundings_test {
namespace {

TEST_CASE("a variable that is not set is empty") {
  Surroundings surroundings;
  surroundings.environment = {{"HOME", "/home/a"}};
  CHECK(surroundings.Variable("HOME") == "/home/a");
  CHECK(surroundings.Variable("HOM").empty());
}

TEST_CASE("a variable's value may be empty or contain equals signs") {
  setenv("CCCL_CACHED_TEST_A", "b=c", 1);
  setenv("CCCL_CACHED_TEST_EMPTY", "", 1);
  const Surroundings surroundings = Surroundings::OfThisProcess();
  unsetenv("CCCL_CACHED_TEST_A");
  unsetenv("CCCL_CACHED_TEST_EMPTY");
  CHECK(surroundings.Variable("CCCL_CACHED_TEST_A") == "b=c");
  CHECK(surroundings.environment.contains("CCCL_CACHED_TEST_EMPTY"));
}

TEST_CASE("an invalid entry of the environment is skipped") {
  char no_variable[] = "no variable";
  char variable[] = "A=1";
  char* entries[] = {no_variable, variable, nullptr};
  char** const before = environ;
  environ = entries;
  const Surroundings surroundings = Surroundings::OfThisProcess();
  environ = before;
  CHECK(surroundings.environment.size() == 1);
  CHECK(surroundings.Variable("A") == "1");
}

TEST_CASE("only processors that this process may run on are counted") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof(before), &before) == 0);
  CHECK(Surroundings::OfThisProcess().processors == static_cast<uint64_t>(CPU_COUNT(&before)));
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
  const uint64_t processors = Surroundings::OfThisProcess().processors;
  sched_setaffinity(0, sizeof(before), &before);
  CHECK(processors == 1);
  CHECK(Surroundings::OfThisProcess().uid == geteuid());
}

}  // namespace
}  // namespace cccl_cache::daemon::surroundings_test
