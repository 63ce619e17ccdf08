// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/stop_event.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>

#include "daemon/compile/wait_readable.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kNow{0};
constexpr std::chrono::milliseconds kPatience{60'000};  // only ever spent by a test that fails

TEST_CASE("an event is readable from when a stop is requested, for good") {
  std::stop_source source;
  const StopEvent event(source.get_token());
  REQUIRE(event.valid());
  CHECK_FALSE(WaitReadable(event.fd(), kNow));
  source.request_stop();
  CHECK(WaitReadable(event.fd(), kNow));
  CHECK(WaitReadable(event.fd(), kNow));
}

TEST_CASE("an event that is made after the stop is readable at once") {
  std::stop_source source;
  source.request_stop();
  const StopEvent event(source.get_token());
  CHECK(WaitReadable(event.fd(), kNow));
}

TEST_CASE("who waits for an event is woken by a stop from another thread") {
  std::stop_source source;
  const StopEvent event(source.get_token());
  const std::jthread stops([&] { source.request_stop(); });
  CHECK(WaitReadable(event.fd(), kPatience));
}

TEST_CASE("a stop after the event is gone finds nothing to write to") {
  std::stop_source source;
  std::optional<StopEvent> event(std::in_place, source.get_token());
  const int number = event->fd();
  event.reset();
  const StopEvent next{std::stop_token()};
  REQUIRE(next.fd() == number);
  source.request_stop();
  CHECK_FALSE(WaitReadable(next.fd(), kNow));
}

}  // namespace
}  // namespace cccl_cache::daemon
