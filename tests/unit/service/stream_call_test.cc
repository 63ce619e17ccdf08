// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/stream_call.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace cccl_cache::daemon::stream_call_test {
namespace {

TEST_CASE("events of a call run one at a time, whatever threads they come from") {
  CallEvents events([] { return false; });
  int running = 0;  // not atomic: ThreadSanitizer checks it
  int most = 0;
  int ran = 0;
  const auto event = [&] {
    most = std::max(most, ++running);
    ++ran;
    std::this_thread::yield();
    --running;
  };
  constexpr int kEach = 1000;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int each = 0; each < kEach; ++each) events.Post(event);
      });
    }
    for (int each = 0; each < kEach; ++each) events.Run(event);
  }
  CHECK(most == 1);
  CHECK(ran == 4 * kEach);
}

TEST_CASE("an event posted by a running event runs next, before the call settles") {
  std::string order;
  CallEvents events([&] {
    order += '.';
    return false;
  });
  events.Run([&] {
    events.Post([&] { order += 'b'; });
    order += 'a';
  });
  CHECK(order == "ab.");
}

TEST_CASE("events of a call that has ended are dropped") {
  bool ended = false;
  CallEvents events([&] { return ended; });
  int ran = 0;
  events.Run([&] {
    ended = true;
    events.Post([&] { ++ran; });
  });
  CHECK(ran == 1);
  const auto held = std::make_shared<int>();
  events.Post([&ran, held] { ++ran; });
  events.Run([&ran, held] { ++ran; });
  CHECK(ran == 1);
  CHECK(held.use_count() == 1);
}

TEST_CASE("the server's thread waits for an event that another thread runs") {
  CallEvents events([] { return false; });
  std::promise<void> begun;
  std::promise<void> may_end;
  std::string order;
  std::jthread poster([&] {
    events.Post([&] {
      begun.set_value();
      may_end.get_future().wait();
      order += 'a';
    });
  });
  begun.get_future().wait();
  std::jthread server([&] {
    const std::thread::id own = std::this_thread::get_id();
    events.Run([&order, own] { order += std::this_thread::get_id() == own ? 'b' : 'x'; });
  });
  events.Post([&] { order += 'c'; });  // does not wait
  may_end.set_value();
  server.join();
  poster.join();
  CHECK(order == "acb");
}

TEST_CASE("an event may post an event while it is destroyed") {
  CallEvents events([] { return false; });
  struct Poster {
    CallEvents& events;
    int& posted;
    ~Poster() {
      events.Post([&posted = posted] { ++posted; });
    }
  };
  int posted = 0;
  events.Run([&] { events.Post([poster = std::make_shared<Poster>(Poster{events, posted})] {}); });
  CHECK(posted > 0);
}

}  // namespace
}  // namespace cccl_cache::daemon::stream_call_test
