// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "client/src/transport/timing.h"

using cccl_cache::KeepAlive;
using Means = cccl_cache::KeepAlive::Means;
using namespace std::chrono_literals;

namespace {

constexpr KeepAlive::Clock::time_point kStart{1h};

}  // namespace

TEST_CASE("who says nothing for long is asked, and given up when it is silent as long again") {
  KeepAlive silence(kStart, 600s);
  CHECK(silence.until() == kStart + 5s);
  CHECK(silence.At(kStart + 4999ms) == Means::kNothingYet);
  CHECK(silence.At(kStart + 5s) == Means::kAsk);
  CHECK(silence.At(kStart + 9999ms) == Means::kNothingYet);
  CHECK(silence.At(kStart + 10s) == Means::kGone);
}

TEST_CASE("whatever is said, all begins anew") {
  KeepAlive silence(kStart, 600s);
  CHECK(silence.At(kStart + 5s) == Means::kAsk);
  silence.Broken(kStart + 6s);
  CHECK(silence.At(kStart + 10s) == Means::kNothingYet);
  CHECK(silence.At(kStart + 11s) == Means::kAsk);
}

TEST_CASE("who was stopped itself asks before it gives up, and waits for the answer") {
  KeepAlive silence(kStart, 600s);
  CHECK(silence.At(kStart + 1h) == Means::kAsk);
  CHECK(silence.At(kStart + 1h + 4s) == Means::kNothingYet);
  CHECK(silence.At(kStart + 1h + 5s) == Means::kGone);
}

TEST_CASE(
    "half of a short call is left when its server is given up, but no server within a second") {
  KeepAlive silence(kStart, 4s);
  CHECK(silence.At(kStart + 1s) == Means::kAsk);
  CHECK(silence.At(kStart + 2s) == Means::kGone);
  CHECK(KeepAlive(kStart, 0s).until() == kStart + 500ms);
}

TEST_CASE(
    "what is to come sooner has its server asked sooner, what may come later changes nothing") {
  KeepAlive silence(kStart, 600s);
  silence.Hurry(kStart + 1s, 4s);
  CHECK(silence.until() == kStart + 2s);
  silence.Hurry(kStart + 1s, 600s);
  CHECK(silence.At(kStart + 2s) == Means::kAsk);
  CHECK(silence.At(kStart + 3s) == Means::kGone);
}

TEST_CASE("who is asked already is given up no later for what is to come sooner") {
  KeepAlive silence(kStart, 600s);
  CHECK(silence.At(kStart + 5s) == Means::kAsk);
  silence.Hurry(kStart + 9s, 8s);
  CHECK(silence.At(kStart + 10s) == Means::kGone);
}
