// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/failure_memory.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cached {
namespace {

using cccl_cache::Sha256;
using Clock = std::chrono::steady_clock;

TEST_CASE("a failure is remembered for its lifetime and no longer") {
  Clock::time_point now{};
  FailureMemory<std::string> memory(std::chrono::seconds(60), 10, [&] { return now; });
  memory.Remember(Sha256("a"), "error");
  now += std::chrono::seconds(59);
  CHECK(memory.Find(Sha256("a")) == "error");
  CHECK_FALSE(memory.Find(Sha256("b")));
  now += std::chrono::seconds(1);
  CHECK_FALSE(memory.Find(Sha256("a")));
}

TEST_CASE("the oldest failure makes room") {
  FailureMemory<int> memory(std::chrono::seconds(60), 2, [] { return Clock::time_point{}; });
  memory.Remember(Sha256("a"), 1);
  memory.Remember(Sha256("b"), 2);
  memory.Remember(Sha256("a"), 3);
  memory.Remember(Sha256("c"), 4);
  CHECK_FALSE(memory.Find(Sha256("b")));
  CHECK(memory.Find(Sha256("a")) == 3);
  CHECK(memory.Find(Sha256("c")) == 4);
}

}  // namespace
}  // namespace cccl_cached
