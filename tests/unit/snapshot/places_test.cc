// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <future>
#include <latch>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "daemon/snapshot/node_snapshots.h"

namespace cccl_cache::daemon {
namespace {

using Place = std::shared_ptr<void>;

/// A user who waits on a thread of its own.
struct Waiting {
  Waiting(Places& places, uid_t uid)
      : place(std::async(std::launch::async, [&places, uid, token = left.get_token()] {
          return places.Take(Account(uid), token);
        })) {
    // Until it stands in line: then it can't stand there twice.
    while (true) {
      std::stop_source at_once;
      at_once.request_stop();
      const auto again = places.Take(Account(uid), at_once.get_token());
      if (!again && again.error().code == ErrorCode::kOverloaded) break;
      std::this_thread::yield();
    }
  }

  std::stop_source left;
  std::future<Result<Place>> place;
};

Place TakeNow(Places& places, uid_t uid) {
  auto place = places.Take(Account(uid), {});
  REQUIRE(place.ok());
  return *std::move(place);
}

TEST_CASE("so many users have a place at once, and the next one waits for it") {
  Places places(2);
  Place one = TakeNow(places, 1);
  const Place two = TakeNow(places, 2);
  Waiting three(places, 3);
  one.reset();
  CHECK(three.place.get().ok());
}

TEST_CASE("a user has one place, and holds up nobody behind it") {
  Places places(3);
  Place one = TakeNow(places, 1);
  Waiting again(places, 1);
  CHECK(TakeNow(places, 2) != nullptr);
  const auto third = places.Take(Account(1), {});
  REQUIRE_FALSE(third.ok());
  CHECK(third.error().code == ErrorCode::kOverloaded);
  one.reset();
  CHECK(again.place.get().ok());
}

TEST_CASE("who has waited longest is next, and not who comes again") {
  Places places(1);
  Place first = TakeNow(places, 1);
  Waiting second(places, 2);
  Waiting again(places, 1);
  first.reset();
  auto place = second.place.get();
  REQUIRE(place.ok());
  CHECK(again.place.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  *place = nullptr;
  CHECK(again.place.get().ok());
}

TEST_CASE("who leaves the line makes room in it") {
  Places places(1);
  Place first = TakeNow(places, 1);
  Waiting gone(places, 2);
  Waiting behind(places, 3);
  gone.left.request_stop();
  const auto cancelled = gone.place.get();
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.error().code == ErrorCode::kCancelled);
  first.reset();
  CHECK(behind.place.get().ok());
}

}  // namespace
}  // namespace cccl_cache::daemon
