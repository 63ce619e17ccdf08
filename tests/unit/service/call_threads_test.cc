// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/call_threads.h"

#include <atomic>
#include <catch2/catch.hpp>

#include "tests/support/no_more_threads.h"

namespace cccl_cache::daemon {
namespace {

TEST_CASE("call threads have done all their work when they are gone") {
  std::atomic<int> done = 0;
  {
    CallThreads threads;
    for (int i = 0; i < 8; ++i) REQUIRE(threads.Run([&] { ++done; }));
  }
  CHECK(done == 8);
}

TEST_CASE("a call whose thread can't be started is told to come back, and others go on") {
  std::atomic<int> done = 0;
  {
    CallThreads threads;
    {
      const NoMoreThreads none;
      const Status refused = threads.Run([] { FAIL("there was no thread for it"); });
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == ErrorCode::kOverloaded);
    }
    REQUIRE(threads.Run([&] { ++done; }));
  }
  CHECK(done == 1);
}

}  // namespace
}  // namespace cccl_cache::daemon
