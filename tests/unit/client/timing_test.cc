// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/timing.h"

#include <catch2/catch.hpp>

namespace timing_test {

using cccl_cache::CircuitBreaker;
using namespace std::chrono_literals;
using cccl_cache::Backoff;
using cccl_cache::KeepAlive;

namespace {

// Returns the pause after a failure at `moment`.
std::chrono::milliseconds RestAfter(CircuitBreaker& rest,
                                    CircuitBreaker::Clock::time_point moment) {
  std::chrono::milliseconds pause{0};
  rest.Failed(moment, 0s);
  while (rest.Resting(moment + pause)) pause += 100ms;
  return pause;
}

}  // namespace

TEST_CASE("the circuit breaker pauses calls after a failure, each time twice as long, up to 30 s") {
  const CircuitBreaker::Clock::time_point start{1h};
  CircuitBreaker rest;
  CHECK_FALSE(rest.Resting(start));
  CHECK(RestAfter(rest, start) == 100ms);
  CHECK(RestAfter(rest, start + 1min) == 200ms);
  CHECK(RestAfter(rest, start + 2min) == 400ms);
  for (int i = 3; i < 60; ++i) rest.Failed(start + i * 1min, 0s);
  CHECK(RestAfter(rest, start + 60min) == 30s);
}

TEST_CASE("failures during a pause do not change it; the next failure doubles the pause") {
  const CircuitBreaker::Clock::time_point start{1h};
  CircuitBreaker rest;
  for (int i = 0; i < 60; ++i) rest.Failed(start + i * 1ms, 0s);
  CHECK(rest.Resting(start + 99ms));
  CHECK_FALSE(rest.Resting(start + 100ms));
  CHECK(RestAfter(rest, start + 1min) == 200ms);
}

TEST_CASE("an answer ends the pause, and the next failure counts as the first") {
  const CircuitBreaker::Clock::time_point start{1h};
  CircuitBreaker rest;
  rest.Failed(start, 0s);
  rest.Failed(start + 1min, 0s);
  rest.Answered();
  CHECK_FALSE(rest.Resting(start + 1min));
  CHECK(RestAfter(rest, start + 1min) == 100ms);
}

TEST_CASE("a pause is at least the wait for the daemon, but at most 30 s") {
  const CircuitBreaker::Clock::time_point start{1h};
  CircuitBreaker rest;
  rest.Failed(start, 10s);
  CHECK(rest.Resting(start + 9999ms));
  CHECK_FALSE(rest.Resting(start + 10s));
  rest.Failed(start + 1min, 1h);
  CHECK(rest.Resting(start + 1min + 29s));
  CHECK_FALSE(rest.Resting(start + 1min + 30s));
}

namespace {

const Backoff::Moment kStart{1h};

}  // namespace

TEST_CASE("a lost daemon is tried again for ten seconds, with doubling pauses") {
  Backoff pace;
  REQUIRE(pace.Missed(kStart));
  CHECK(pace.next() == kStart + 10ms);
  CHECK(pace.waiting(kStart + 9ms));
  CHECK_FALSE(pace.waiting(kStart + 10ms));
  REQUIRE(pace.Missed(kStart + 10ms));
  CHECK(pace.next() == kStart + 30ms);
  CHECK(pace.Missed(kStart + 9'999ms));
  CHECK_FALSE(pace.Missed(kStart + 10s));
}

TEST_CASE("the ten seconds begin when the daemon is lost, however long it was stopping") {
  Backoff pace;
  for (auto moment = kStart; moment < kStart + 60s; moment += 100ms) pace.Postponed(moment, 100ms);
  REQUIRE(pace.Missed(kStart + 60s));
  CHECK(pace.Missed(kStart + 69s));
  CHECK_FALSE(pace.Missed(kStart + 70s));
}

TEST_CASE("after an answer, the next loss of the daemon has the full ten seconds") {
  Backoff pace;
  REQUIRE(pace.Missed(kStart));
  pace.Answered(kStart + 9s);
  CHECK(pace.Missed(kStart + 12s));
  CHECK(pace.Missed(kStart + 21s));
  CHECK_FALSE(pace.Missed(kStart + 22s));
}

TEST_CASE("a client waits for a missing daemon only if it answered in the last ten seconds") {
  Backoff pace;
  CHECK_FALSE(pace.was_there(kStart));
  pace.Answered(kStart);
  CHECK(pace.was_there(kStart + 9s));
  CHECK_FALSE(pace.was_there(kStart + 10s));
  pace.Postponed(kStart + 20s, 1ms);
  CHECK(pace.was_there(kStart + 29s));
}

TEST_CASE("a daemon is not asked before its retry time, even if other calls are answered") {
  Backoff pace;
  pace.Postponed(kStart, 200ms);
  pace.Postponed(kStart, 100ms);
  pace.Answered(kStart + 50ms);
  CHECK(pace.waiting(kStart + 199ms));
  CHECK_FALSE(pace.waiting(kStart + 200ms));
}

TEST_CASE("after an overload each answer allows one more build") {
  Backoff pace;
  pace.Full(7);
  CHECK(pace.most() == 7);
  pace.Answered(kStart);
  CHECK(pace.most() == 8);
  pace.Full(0);
  CHECK(pace.most() == 1);
}

using Means = cccl_cache::KeepAlive::Means;

namespace {

constexpr KeepAlive::Clock::time_point kSilenceStart{1h};

}  // namespace

TEST_CASE("a silent server gets a PING after 5 s, and 5 s later is given up") {
  KeepAlive silence(kSilenceStart, 600s);
  CHECK(silence.until() == kSilenceStart + 5s);
  CHECK(silence.At(kSilenceStart + 4999ms) == Means::kNothingYet);
  CHECK(silence.At(kSilenceStart + 5s) == Means::kAsk);
  CHECK(silence.At(kSilenceStart + 9999ms) == Means::kNothingYet);
  CHECK(silence.At(kSilenceStart + 10s) == Means::kGone);
}

TEST_CASE("any message of the server restarts the wait") {
  KeepAlive silence(kSilenceStart, 600s);
  CHECK(silence.At(kSilenceStart + 5s) == Means::kAsk);
  silence.Broken(kSilenceStart + 6s);
  CHECK(silence.At(kSilenceStart + 10s) == Means::kNothingYet);
  CHECK(silence.At(kSilenceStart + 11s) == Means::kAsk);
}

TEST_CASE("a client that was suspended sends a PING before it gives up") {
  KeepAlive silence(kSilenceStart, 600s);
  CHECK(silence.At(kSilenceStart + 1h) == Means::kAsk);
  CHECK(silence.At(kSilenceStart + 1h + 4s) == Means::kNothingYet);
  CHECK(silence.At(kSilenceStart + 1h + 5s) == Means::kGone);
}

TEST_CASE("a short call gives up its server after half its time, but not within 1 s") {
  KeepAlive silence(kSilenceStart, 4s);
  CHECK(silence.At(kSilenceStart + 1s) == Means::kAsk);
  CHECK(silence.At(kSilenceStart + 2s) == Means::kGone);
  CHECK(KeepAlive(kSilenceStart, 0s).until() == kSilenceStart + 500ms);
}

TEST_CASE("each of the two waits is at most the client's limit, even in a long call") {
  KeepAlive silence(kSilenceStart, 600s, 300ms);
  CHECK(silence.At(kSilenceStart + 300ms) == Means::kAsk);
  CHECK(silence.At(kSilenceStart + 600ms) == Means::kGone);
}

TEST_CASE("a nearer deadline makes the PING earlier, a later one changes nothing") {
  KeepAlive silence(kSilenceStart, 600s);
  silence.Hurry(kSilenceStart + 1s, 4s);
  CHECK(silence.until() == kSilenceStart + 2s);
  silence.Hurry(kSilenceStart + 1s, 600s);
  CHECK(silence.At(kSilenceStart + 2s) == Means::kAsk);
  CHECK(silence.At(kSilenceStart + 3s) == Means::kGone);
}

TEST_CASE("after a PING a nearer deadline does not extend the wait for the answer") {
  KeepAlive silence(kSilenceStart, 600s);
  CHECK(silence.At(kSilenceStart + 5s) == Means::kAsk);
  silence.Hurry(kSilenceStart + 9s, 8s);
  CHECK(silence.At(kSilenceStart + 10s) == Means::kGone);
}

}  // namespace timing_test
