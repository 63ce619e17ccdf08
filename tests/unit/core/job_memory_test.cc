// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/system/job_memory.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <stop_token>

namespace cccl_cache::daemon::job_memory_test {
namespace {

using Clock = JobMemory::Clock;

constexpr Clock::time_point kNow{};
constexpr Account kAnn(1001);
constexpr Account kBob(1002);

struct Scene {
  std::shared_ptr<JobMemory> memory = JobMemory::Make({.per_account = 100, .in_all = 200});

  /// Returns null if there is no memory now.
  JobMemory::Share TakeNow(Account uid, uint64_t bytes) {
    Result<JobMemory::Share> taken = memory->Take(uid, bytes, kNow);
    return taken ? *taken : nullptr;
  }
  bool Has(Account uid, uint64_t bytes) {
    const Result<JobMemory::Share> taken = memory->Take(uid, bytes, kNow);
    return taken.ok();
  }
};

TEST_CASE("a user's bytes are bounded, and released with the last copy of a share") {
  Scene scene;
  std::optional<JobMemory::Share> share = *scene.memory->Take(kAnn, 60, kNow);
  std::optional<JobMemory::Share> copy = share;
  CHECK(scene.memory->used() == 60);
  CHECK_FALSE(scene.Has(kAnn, 41));
  CHECK(scene.Has(kAnn, 40));
  share.reset();
  CHECK_FALSE(scene.Has(kAnn, 41));
  copy.reset();
  CHECK(scene.memory->used() == 0);
  CHECK(scene.Has(kAnn, 100));
}

TEST_CASE("a request above a user's limit is refused at once, with both figures") {
  Scene scene;
  const auto taken = scene.memory->Take(kAnn, 101);
  REQUIRE(!taken.ok());
  CHECK(taken.error().code == ErrorCode::kOutOfMemory);
  CHECK_THAT(taken.error().message,
             Catch::Matchers::Contains("101") && Catch::Matchers::Contains("100"));
}

TEST_CASE("no account holds more than it leaves free, and a sixteenth is reserved for root") {
  Scene scene;
  const auto ann = *scene.memory->Take(kAnn, 100, kNow);
  const auto bob = *scene.memory->Take(kBob, 40, kNow);
  CHECK_FALSE(scene.Has(kBob, 9));  // Bob would hold 49, but 48 are free
  CHECK(scene.Has(kBob, 8));
  const auto newcomer = *scene.memory->Take(Account(1003), 48, kNow);
  CHECK_FALSE(scene.Has(Account(1004), 1));
  CHECK(scene.Has(Account(0), 12));
}

TEST_CASE("Take waits until there is memory") {
  Scene scene;
  std::optional<JobMemory::Share> held = *scene.memory->Take(kAnn, 100, kNow);
  auto waiting = std::async(std::launch::async, [&] { return scene.memory->Take(kAnn, 100); });
  CHECK(scene.Has(kBob, 80));  // Ann's wait does not delay Bob
  held.reset();
  CHECK(waiting.get().ok());
}

TEST_CASE("a user's calls are served in order, so that small ones do not starve a large one") {
  Scene scene;
  std::optional<JobMemory::Share> held = *scene.memory->Take(kAnn, 50, kNow);
  std::stop_source stop;
  auto large = std::async(std::launch::async, [&] {
    return scene.memory->Take(kAnn, 100, Clock::time_point::max(), stop.get_token());
  });
  while (scene.Has(kAnn, 1)) {
  }
  stop.request_stop();
  const auto cancelled = large.get();
  REQUIRE(!cancelled.ok());
  CHECK(cancelled.error().code == ErrorCode::kCancelled);
  CHECK(scene.Has(kAnn, 1));
}

TEST_CASE("the error at a call's deadline names the bytes held and the limit") {
  Scene scene;
  const auto held = *scene.memory->Take(kAnn, 70, kNow);
  const auto late = scene.memory->Take(kAnn, 60, kNow);
  REQUIRE(!late.ok());
  CHECK(late.error().code == ErrorCode::kTimedOut);
  CHECK_THAT(late.error().message, Catch::Matchers::Contains("70 of at most 100"));
  CHECK(scene.memory->used() == 70);
}

}  // namespace
}  // namespace cccl_cache::daemon::job_memory_test
