// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/steps/flights.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace flights_test {

using cccl_cache::Flights;
using cccl_cache::StepValue;
using namespace std::chrono_literals;

namespace {

Flights::Moment In(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

std::shared_ptr<const StepValue> Made() {
  return std::make_shared<const StepValue>("digest", 5us, "made");
}

/// Returns what `call` returns on another thread.
template <typename Call>
auto Elsewhere(Call call) {
  decltype(call()) result;
  std::thread([&] { result = call(); }).join();
  return result;
}

}  // namespace

TEST_CASE("all threads but the first wait for the value of a flight") {
  auto& flights = Flights::OfThisProcess();
  const auto first = flights.Enter("a step");
  REQUIRE(first.leads);
  std::atomic<int> seated{0};
  std::vector<std::shared_ptr<const StepValue>> got(4);
  std::vector<std::thread> threads;
  for (auto& value : got) {
    threads.emplace_back([&] {
      const auto seat = flights.Enter("a step");
      ++seated;
      if (!seat.leads && !seat.nested) value = Flights::Wait(*seat.flight, In(60s));
    });
  }
  while (seated < 4) std::this_thread::yield();
  const auto made = Made();
  Flights::Finish(*first.flight, made, false);
  for (auto& thread : threads) thread.join();
  CHECK(got == std::vector<std::shared_ptr<const StepValue>>(4, made));
  CHECK(flights.Find("a step").flight == nullptr);
}

TEST_CASE("a thread that asks for its own flight is nested, and another thread is not") {
  auto& flights = Flights::OfThisProcess();
  const auto outer = flights.Enter("a step");
  CHECK(flights.Enter("a step").nested);
  CHECK(flights.Find("a step").nested);
  CHECK(flights.Find("another step").flight == nullptr);
  CHECK_FALSE(Elsewhere([&] { return flights.Find("a step").nested; }));
  Flights::Finish(*outer.flight, nullptr, false);
  const auto next = flights.Enter("a step");
  CHECK(next.leads);
  Flights::Finish(*next.flight, nullptr, false);
}

TEST_CASE("a flight whose waits are bounded holds no thread back") {
  auto& flights = Flights::OfThisProcess();
  const auto first = flights.Enter("a step");
  const auto seat = Elsewhere([&] { return flights.Enter("a step"); });
  REQUIRE_FALSE(seat.leads);
  std::thread waiting([&] { CHECK(Flights::Wait(*seat.flight, In(10min)) == nullptr); });
  Flights::EndWaitsAt(*first.flight, In(-1ms));
  waiting.join();
  const auto later = Elsewhere([&] { return flights.Enter("a step"); });
  CHECK(later.leads);
  Flights::Finish(*first.flight, nullptr, false);
  CHECK(flights.Find("a step").flight == later.flight);
  Flights::Finish(*later.flight, nullptr, false);
}

TEST_CASE("a wait that is not in time ends without a value") {
  auto& flights = Flights::OfThisProcess();
  const auto first = flights.Enter("a step");
  CHECK(Elsewhere([&] { return Flights::Wait(*first.flight, In(1ms)); }) == nullptr);
  Flights::Finish(*first.flight, nullptr, false);
}

TEST_CASE("a child is nested in the flights of the thread that forked, until it ends them") {
  const auto outer = Flights::OfThisProcess().Enter("a step");
  std::atomic<bool> leave{false};
  std::atomic<bool> led{false};
  std::thread other([&] {
    const auto seat = Flights::OfThisProcess().Enter("another step");
    led = true;
    while (!leave) std::this_thread::yield();
    Flights::Finish(*seat.flight, nullptr, false);
  });
  while (!led) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    auto& flights = Flights::OfThisProcess();
    const auto inner = flights.Enter("a step");
    bool right = inner.nested && !inner.flight->owned();
    Flights::Finish(*inner.flight, nullptr, false);
    right = right && flights.Enter("a step").leads && flights.Enter("another step").leads;
    _exit(right ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  leave = true;
  other.join();
  CHECK(Flights::OfThisProcess().Find("a step").nested);
  Flights::Finish(*outer.flight, nullptr, false);
}

}  // namespace flights_test
