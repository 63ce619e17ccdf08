// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "client/src/transport/timing.h"

using cccl_cache::CircuitBreaker;
using namespace std::chrono_literals;

namespace {

// How long it rests after a failure at `moment`.
std::chrono::milliseconds RestAfter(CircuitBreaker& rest,
                                    CircuitBreaker::Clock::time_point moment) {
  std::chrono::milliseconds pause{0};
  rest.Failed(moment, 0s);
  while (rest.Resting(moment + pause)) pause += 100ms;
  return pause;
}

}  // namespace

TEST_CASE("a daemon rests after a failure, each time twice as long, half a minute at the most") {
  const CircuitBreaker::Clock::time_point start{1h};
  CircuitBreaker rest;
  CHECK_FALSE(rest.Resting(start));
  CHECK(RestAfter(rest, start) == 100ms);
  CHECK(RestAfter(rest, start + 1min) == 200ms);
  CHECK(RestAfter(rest, start + 2min) == 400ms);
  for (int i = 3; i < 60; ++i) rest.Failed(start + i * 1min, 0s);
  CHECK(RestAfter(rest, start + 60min) == 30s);
}

TEST_CASE("calls that fail together begin one rest, and the next failure after it the second") {
  const CircuitBreaker::Clock::time_point start{1h};
  CircuitBreaker rest;
  for (int i = 0; i < 60; ++i) rest.Failed(start + i * 1ms, 0s);
  CHECK(rest.Resting(start + 99ms));
  CHECK_FALSE(rest.Resting(start + 100ms));
  CHECK(RestAfter(rest, start + 1min) == 200ms);
}

TEST_CASE("a daemon that answered rests no longer, and after the next failure as after the first") {
  const CircuitBreaker::Clock::time_point start{1h};
  CircuitBreaker rest;
  rest.Failed(start, 0s);
  rest.Failed(start + 1min, 0s);
  rest.Answered();
  CHECK_FALSE(rest.Resting(start + 1min));
  CHECK(RestAfter(rest, start + 1min) == 100ms);
}

TEST_CASE("a rest is no shorter than what the daemon cost, and half a minute at the most") {
  const CircuitBreaker::Clock::time_point start{1h};
  CircuitBreaker rest;
  rest.Failed(start, 10s);
  CHECK(rest.Resting(start + 9999ms));
  CHECK_FALSE(rest.Resting(start + 10s));
  rest.Failed(start + 1min, 1h);
  CHECK(rest.Resting(start + 1min + 29s));
  CHECK_FALSE(rest.Resting(start + 1min + 30s));
}
