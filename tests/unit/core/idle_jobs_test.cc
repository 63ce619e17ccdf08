// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/idle_jobs.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>

#include "tests/unit/core/fakes.h"

namespace cccl_cached {
namespace {

using testing::kPatience;

TEST_CASE("an idle job waits until nothing else goes on") {
  std::atomic<bool> idle{false};
  std::atomic<bool> was_idle{false};
  std::promise<void> asked;
  std::atomic<bool> told{false};
  std::promise<void> done;
  IdleJobs jobs([&] {
    if (!told.exchange(true)) asked.set_value();
    return idle.load();
  });
  jobs.Add([&](std::stop_token) {
    was_idle = idle.load();
    done.set_value();
  });
  REQUIRE(asked.get_future().wait_for(kPatience) == std::future_status::ready);
  idle = true;
  REQUIRE(done.get_future().wait_for(kPatience) == std::future_status::ready);
  CHECK(was_idle);
}

TEST_CASE("the end of the daemon stops the job that runs and drops those that wait") {
  std::promise<void> started;
  std::atomic<int> ran{0};
  {
    IdleJobs jobs([] { return true; });
    jobs.Add([&](const std::stop_token& stop) {
      ++ran;
      started.set_value();
      while (!stop.stop_requested()) std::this_thread::yield();
    });
    jobs.Add([&](std::stop_token) { ++ran; });
    REQUIRE(started.get_future().wait_for(kPatience) == std::future_status::ready);
  }
  CHECK(ran == 1);
}

}  // namespace
}  // namespace cccl_cached
