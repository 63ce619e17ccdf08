// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/chunk_fetches.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/wait_until.h"
#include "tests/unit/remote/fake_redis.h"

namespace chunk_fetches_test {

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;
using cccl_cache::Sha256;
using Texts = std::vector<std::string>;

/// The fetches of a node. Each deposit is one chunk.
struct Scene {
  Statistics statistics;
  Said said;
  FakeRedis redis;
  ChunkFetches fetches{servers, 60s, statistics};
  const std::string chunk = *StoreChunk("contents", 0);
  RedisServers servers{Options(), {}};
  FakeConnection peer = redis.Accept();

  Scene() {
    peer.Greet();
    REQUIRE(WaitUntil([this] { return servers.connected(); }));
  }

  RedisLink::Options Options() const {
    RedisLink::Options options;
    options.address = redis.address();
    options.connect_timeout = options.patience = 60s;
    return options;
  }
  ChunkFetches::Fetch Fetch(const std::string& name, std::function<void()> then = {}) {
    return {.list = {.size = 8, .chunks = {Sha256(chunk)}},
            .place = name,
            .name = name,
            .deadline = ChunkFetches::Clock::now() + 60s,
            .wanted = [] { return true; },
            .done =
                [this, name, then](const std::optional<std::string>& contents) {
                  said.Add(name + " " + contents.value_or("none"));
                  if (then) then();
                }};
  }
  void Add(std::vector<ChunkFetches::Fetch> added) {
    servers.At(ChunkFetches::Clock::now(), [this, added = std::move(added)] {
      for (const ChunkFetches::Fetch& each : added) fetches.Add(each);
    });
  }
  void Expect(const std::string& name) {
    CHECK(peer.Next().starts_with("GETRANGE " + name + ":0 "));
    peer.Send("$" + std::to_string(chunk.size()) + "\r\n" + chunk + "\r\n");
  }
};

TEST_CASE("deposits are fetched one after the other") {
  Scene scene;
  scene.Add({scene.Fetch("one"), scene.Fetch("two")});
  CHECK(scene.peer.Next().starts_with("GETRANGE one:0 "));
  CHECK(scene.servers.state().pending == 1);
  scene.peer.Send("$0\r\n\r\n");
  scene.Expect("two");
  CHECK(scene.said.Await(2) == Texts{"one none", "two contents"});
}

TEST_CASE("each chunk is asked for once if the end of a fetch adds another one") {
  Scene scene;
  scene.Add({scene.Fetch("one", [&] { scene.fetches.Add(scene.Fetch("two")); })});
  scene.Expect("one");
  scene.Expect("two");
  CHECK(scene.said.Await(2) == Texts{"one contents", "two contents"});
  scene.Add({scene.Fetch("three")});
  scene.Expect("three");
  CHECK(scene.said.Await(3).back() == "three contents");
}

TEST_CASE("chunks are not asked for after their caller has left") {
  Scene scene;
  ChunkFetches::Fetch unwanted = scene.Fetch("unwanted");
  unwanted.wanted = [] { return false; };
  scene.Add({unwanted, scene.Fetch("wanted"), unwanted});
  scene.Expect("wanted");
  CHECK(scene.said.Await(1) == Texts{"wanted contents"});
  CHECK(scene.servers.state().pending == 0);
}

}  // namespace chunk_fetches_test
