// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "client/src/transport/timing.h"

using cccl_cache::Backoff;
using namespace std::chrono_literals;

namespace {

const Backoff::Moment kStart{1h};

}  // namespace

TEST_CASE("a daemon that was lost is looked for during ten seconds, after pauses that double") {
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

TEST_CASE(
    "the ten seconds begin when the daemon is lost, however long it said that it is stopping") {
  Backoff pace;
  for (auto moment = kStart; moment < kStart + 60s; moment += 100ms) pace.Postponed(moment, 100ms);
  REQUIRE(pace.Missed(kStart + 60s));
  CHECK(pace.Missed(kStart + 69s));
  CHECK_FALSE(pace.Missed(kStart + 70s));
}

TEST_CASE("a daemon that answers again has all of its ten seconds the next time") {
  Backoff pace;
  REQUIRE(pace.Missed(kStart));
  pace.Answered(kStart + 9s);
  CHECK(pace.Missed(kStart + 12s));
  CHECK(pace.Missed(kStart + 21s));
  CHECK_FALSE(pace.Missed(kStart + 22s));
}

TEST_CASE("where nobody listens a daemon is waited for only if it was there a moment ago") {
  Backoff pace;
  CHECK_FALSE(pace.was_there(kStart));
  pace.Answered(kStart);
  CHECK(pace.was_there(kStart + 9s));
  CHECK_FALSE(pace.was_there(kStart + 10s));
  pace.Postponed(kStart + 20s, 1ms);
  CHECK(pace.was_there(kStart + 29s));
}

TEST_CASE("who said when to come again is not asked before, whoever else is answered") {
  Backoff pace;
  pace.Postponed(kStart, 200ms);
  pace.Postponed(kStart, 100ms);
  pace.Answered(kStart + 50ms);
  CHECK(pace.waiting(kStart + 199ms));
  CHECK_FALSE(pace.waiting(kStart + 200ms));
}

TEST_CASE("a daemon that had too many builds is asked for one more with each that it answers") {
  Backoff pace;
  pace.Full(7);
  CHECK(pace.most() == 7);
  pace.Answered(kStart);
  CHECK(pace.most() == 8);
  pace.Full(0);
  CHECK(pace.most() == 1);
}
