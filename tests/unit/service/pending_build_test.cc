// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/service/calls/build_call.h"
#include "tests/unit/service/fakes.h"

namespace cccl_cache::daemon {
namespace {

std::shared_ptr<const cccl_cache::BuildRequest> Request() {
  return std::make_shared<const cccl_cache::BuildRequest>();
}

TEST_CASE("an answer that comes at once is handed on once") {
  FakeBuilder builder;
  builder.AnswerWith([](const auto&, const auto&) { return MakeAnswer("now"); });
  auto pending = std::make_shared<PendingBuild>(builder);
  int answers = 0;
  REQUIRE(PendingBuild::Start(pending, Request(), Peer{}, [&](auto) { ++answers; }));
  CHECK(answers == 1);
  CHECK_FALSE(pending->Cancel());
}

TEST_CASE("who leaves while waiting leaves the build and hears nothing") {
  FakeBuilder builder;
  auto pending = std::make_shared<PendingBuild>(builder);
  int answers = 0;
  REQUIRE(PendingBuild::Start(pending, Request(), Peer{}, [&](auto) { ++answers; }));
  CHECK(pending->Cancel());
  CHECK(builder.WaitForLeft(1));
  builder.AnswerAll(MakeAnswer("late"));
  CHECK(answers == 0);
  CHECK_FALSE(pending->Cancel());
}

TEST_CASE("who left before the start asks for nothing") {
  FakeBuilder builder;
  auto pending = std::make_shared<PendingBuild>(builder);
  CHECK_FALSE(pending->Cancel());
  CHECK_FALSE(PendingBuild::Start(pending, Request(), Peer{}, [](auto) {}));
  CHECK(builder.peers().empty());
}

TEST_CASE("the object may go while its own answer runs") {
  FakeBuilder builder;
  builder.AnswerWith([](const auto&, const auto&) { return MakeAnswer("now"); });
  auto pending = std::make_shared<PendingBuild>(builder);
  CHECK(PendingBuild::Start(pending, Request(), Peer{}, [&](auto) { pending.reset(); }));
}

TEST_CASE("an answer, the start and the leaving may race: the wait ends exactly once") {
  for (int round = 0; round < 200; ++round) {
    FakeBuilder builder;
    auto pending = std::make_shared<PendingBuild>(builder);
    std::atomic<int> ends = 0;
    std::atomic<int> ready = 0;
    auto together = [&ready] {
      ++ready;
      while (ready < 3) std::this_thread::yield();
    };
    std::thread starting([&] {
      together();
      if (!PendingBuild::Start(pending, Request(), Peer{}, [&](auto) { ++ends; })) ++ends;
    });
    std::thread answering([&] {
      together();
      builder.AnswerAll(MakeAnswer("raced"));
    });
    together();
    const bool cancelled = pending->Cancel();
    starting.join();
    answering.join();
    builder.AnswerAll(MakeAnswer("rest"));
    CHECK(ends + (cancelled ? 1 : 0) == 1);
  }
}

}  // namespace
}  // namespace cccl_cache::daemon
