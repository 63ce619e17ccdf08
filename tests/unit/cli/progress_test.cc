// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/progress.h"

#include <catch2/catch.hpp>
#include <vector>

namespace cccl_cache::cli::progress_test {
namespace {

Flight Queued(uint32_t uid, uint64_t age_ms) {
  return {.state = "queued", .age_ms = age_ms, .uid = uid};
}

TEST_CASE("the progress of a running compile has its time and that of earlier compiles") {
  std::vector<Flight> flights = {
      Queued(1, 9'000),
      {.state = "running", .running_ms = 2'500, .uid = 1, .of_this_process = true}};
  CHECK(DescribeWait(flights, 1) == "compiling for 2.5 s");
  flights.back().estimate_ms = 4'000;
  CHECK(DescribeWait(flights, 1) == "compiling for 2.5 s, earlier ones took 4.0 s");
}

TEST_CASE("the progress of a queued build has its time and its user's number of queued builds") {
  std::vector<Flight> flights = {Queued(1, 9'000), Queued(2, 8'000), Queued(1, 1'000),
                                 Queued(1, 3'000)};
  flights.back().of_this_process = true;
  CHECK(DescribeWait(flights, 1) == "waiting for a compiler for 3.0 s; 3 of yours wait");
}

TEST_CASE("the progress of an administrator's build does not count other users' builds") {
  std::vector<Flight> flights = {Queued(1, 9'000), Queued(1, 3'000)};
  flights.back().of_this_process = true;
  CHECK(DescribeWait(flights, 0) == "waiting for a compiler for 3.0 s");
}

TEST_CASE("a process without a flight has no progress") {
  CHECK(DescribeWait({}, 1).empty());
  const std::vector<Flight> of_another = {Queued(1, 1'000)};
  CHECK(DescribeWait(of_another, 1).empty());
}

}  // namespace
}  // namespace cccl_cache::cli::progress_test
