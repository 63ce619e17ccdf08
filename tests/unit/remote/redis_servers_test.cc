// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis/redis_servers.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/wait_until.h"
#include "tests/unit/remote/fake_redis.h"

namespace redis_servers_test {

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

RedisLink::Options OptionsFor(const RedisAddress& address) {
  RedisLink::Options options;
  options.address = address;
  options.connect_timeout = options.patience = 60s;
  options.first_backoff = options.last_backoff = 2ms;
  return options;
}

bool AreConnected(const RedisServers& servers, size_t count) {
  return WaitUntil([&] { return servers.state().connected == count; });
}

/// Two servers, of which the first one is connected.
struct Scene {
  FakeRedis one = FakeRedis::OnPort();
  FakeRedis two = FakeRedis::OnPort();
  Said said;
  std::unique_ptr<RedisServers> servers;
  FakeConnection at_one, at_two;

  explicit Scene(std::chrono::milliseconds patience = 60s)
      : servers(Servers(patience)), at_one(one.Accept()), at_two(two.Accept()) {
    at_one.Greet();
    REQUIRE(AreConnected(*servers, 1));
  }
  std::unique_ptr<RedisServers> Servers(std::chrono::milliseconds patience) const {
    RedisLink::Options options = OptionsFor(one.address());
    options.patience = patience;
    return std::make_unique<RedisServers>(options, std::vector{two.address()});
  }
  KeysOfTwo ConnectBoth() {
    KeysOfTwo keys = FindKeys(*servers, at_one);
    at_two.Greet();
    REQUIRE(AreConnected(*servers, 2));
    return keys;
  }
  bool Get(const std::string& key) { return servers->Send(key, {"GET", key}, said.Adding()); }
};

TEST_CASE("a single Redis gets no commands but those that are sent") {
  const FakeRedis redis;
  Said said;
  RedisServers servers(OptionsFor(redis.address()), {});
  FakeConnection peer = redis.Accept();
  peer.Greet();
  REQUIRE(AreConnected(servers, 1));
  CHECK(servers.keeps_order());
  for (const std::string key : {"a", "b"}) {
    REQUIRE(servers.Send(key, {"GET", key}, said.Adding()));
    CHECK(peer.Next() == "GET " + key);
    peer.Send("+1\r\n");
  }
  CHECK(said.Await(2) == Texts{"1", "1"});
}

TEST_CASE("the order of the listed servers does not change the server of a key") {
  Scene scene;
  const KeysOfTwo keys = scene.ConnectBoth();
  CHECK_FALSE(scene.servers->keeps_order());
  RedisServers reversed(OptionsFor(scene.two.address()), {scene.one.address()});
  FakeConnection at_one = scene.one.Accept();
  FakeConnection at_two = scene.two.Accept();
  at_one.Greet();
  at_two.Greet();
  REQUIRE(AreConnected(reversed, 2));
  for (const std::string& key : {keys.here, keys.there})
    REQUIRE(reversed.Send(key, {"GET", key}, scene.said.Adding()));
  CHECK(at_one.Next() == "GET " + keys.here);
  CHECK(at_two.Next() == "GET " + keys.there);
}

TEST_CASE("each of two servers has a share of the keys") {
  Scene scene;
  constexpr int kKeys = 200;
  int here = 0;
  for (int i = 0; i < kKeys; ++i) here += scene.Get(std::to_string(i)) ? 1 : 0;
  CHECK(here > kKeys / 4);
  CHECK(here < 3 * kKeys / 4);
}

TEST_CASE("all answers arrive on one thread, whichever server sent them") {
  Scene scene;
  const KeysOfTwo keys = scene.ConnectBoth();
  std::vector<std::thread::id> threads(3);
  Said done;
  const auto note = [&](size_t place) {
    return [&, place](const RedisReply* reply) {
      threads[place] = std::this_thread::get_id();
      done.Add(reply == nullptr ? "" : reply->text);
    };
  };
  scene.servers->At(RedisServers::Clock::now(), [&] { note(0)(nullptr); });
  CHECK(done.Await(1) == Texts{""});
  REQUIRE(scene.servers->Send(keys.there, {"GET", keys.there}, note(1)));
  scene.at_two.Send("+there\r\n");
  CHECK(done.Await(2) == Texts{"", "there"});
  REQUIRE(scene.servers->Send(keys.here, {"GET", keys.here}, note(2)));
  scene.at_one.Send("+here\r\n");
  CHECK(done.Await(3) == Texts{"", "there", "here"});
  CHECK(threads == std::vector<std::thread::id>(3, threads[0]));
}

TEST_CASE("an unconnected server is a problem, and the others still serve their keys") {
  Scene scene;
  const KeysOfTwo keys = scene.ConnectBoth();
  CHECK(scene.servers->state().problem.empty());
  scene.at_two = FakeConnection(-1);
  REQUIRE(AreConnected(*scene.servers, 1));
  const RedisServers::State state = scene.servers->state();
  CHECK(state.servers == 2);
  CHECK(state.address == ToUrl(scene.one.address()));
  CHECK(state.problem.starts_with(ToUrl(scene.two.address()) + ": "));
  CHECK(scene.servers->connected());
  CHECK_FALSE(scene.Get(keys.there));
  CHECK(scene.Get(keys.here));
  CHECK(scene.at_one.Next() == "GET " + keys.here);
  FakeConnection again = scene.two.Accept();
  again.Greet();
  REQUIRE(AreConnected(*scene.servers, 2));
  CHECK(scene.Get(keys.there));
  CHECK(again.Next() == "GET " + keys.there);
}

TEST_CASE("only the connection to the server with slow answers is closed") {
  Scene scene(1ms);
  const KeysOfTwo keys = scene.ConnectBoth();
  REQUIRE(scene.Get(keys.there));
  CHECK(scene.at_two.Next() == "GET " + keys.there);
  CHECK(WaitUntil([&] {
    scene.servers->NoteSlow();
    return !scene.said.all().empty();
  }));
  CHECK(scene.said.all() == Texts{"lost"});
  CHECK(scene.at_two.Next() == "closed");
  REQUIRE(scene.Get(keys.here));
  CHECK(scene.at_one.Next() == "GET " + keys.here);
}

TEST_CASE("the callback of an answer may use all servers while they are destroyed") {
  Scene scene;
  const KeysOfTwo keys = scene.ConnectBoth();
  RedisServers* const servers = scene.servers.get();
  for (const std::string& key : {keys.here, keys.there}) {
    REQUIRE(servers->Send(key, {"GET", key}, [&, servers](const RedisReply*) {
      servers->Send(keys.there, {"GET", keys.there}, [](const RedisReply*) {});
      const bool sent = servers->Send(keys.here, {"GET", keys.here}, [](const RedisReply*) {});
      scene.said.Add(sent ? "sent" : "refused");
    }));
  }
  scene.servers.reset();
  CHECK(scene.said.all().front() == "refused");
}

}  // namespace redis_servers_test
