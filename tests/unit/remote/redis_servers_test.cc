// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis_servers.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/wait_until.h"
#include "tests/unit/remote/fake_redis.h"

namespace redis_servers_test {

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

const std::string kNoMap = "-NOPERM this user has no permissions\r\n";

std::string At(const FakeRedis& redis) {
  return redis.address().host + ":" + std::to_string(redis.address().port);
}

std::string Moved(std::string_view key, const std::string& to) {
  return "-MOVED " + std::to_string(RedisSlotOf(key)) + " " + to + "\r\n";
}

std::string Bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

/// The map of a cluster in which one node has all slots.
std::string AllAt(const FakeRedis& redis) {
  return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + Bulk(redis.address().host) + ":" +
         std::to_string(redis.address().port) + "\r\n";
}

RedisServers::Options OptionsFor(const RedisAddress& address) {
  RedisServers::Options options;
  options.link.address = address;
  options.link.connect_timeout = 60s;
  options.link.first_backoff = options.link.last_backoff = 2ms;
  options.patience = options.first_connection = 60s;
  return options;
}

/// Two nodes of a cluster, and the servers that know one of them.
struct Scene {
  FakeRedis one = FakeRedis::OnPort();
  FakeRedis two = FakeRedis::OnPort();
  Said said;
  RedisServers servers;
  FakeConnection at_one;

  explicit Scene(const std::function<void(RedisServers::Options&)>& change = [](auto&) {})
      : servers(Changed(change)), at_one(one.Accept()) {
    at_one.Greet();
    REQUIRE(WaitUntil([this] { return servers.connected(); }));
  }

  RedisServers::Options Changed(const std::function<void(RedisServers::Options&)>& change) const {
    RedisServers::Options options = OptionsFor(one.address());
    change(options);
    return options;
  }
  void Get(const std::string& key) { REQUIRE(servers.Send(key, {"GET", key}, said.Adding())); }
  /// The first node is asked for a key whose slot the second one has. Returns the connection to the
  /// second, which has been asked.
  FakeConnection Redirect(const std::string& key, const std::string& map = kNoMap) {
    Get(key);
    CHECK(at_one.Next() == "GET " + key);
    at_one.Send(Moved(key, At(two)));
    CHECK(at_one.Next() == "CLUSTER SLOTS");
    at_one.Send(map);
    FakeConnection at_two = two.Accept();
    at_two.Greet();
    CHECK(at_two.Next() == "GET " + key);
    return at_two;
  }
};

TEST_CASE("a single Redis is asked for nothing but the commands") {
  Scene scene;
  scene.Get("a");
  CHECK(scene.at_one.Next() == "GET a");
  scene.at_one.Send("+1\r\n");
  CHECK(scene.said.Await(1) == Texts{"1"});
  scene.Get("b");
  CHECK(scene.at_one.Next() == "GET b");
  CHECK(scene.servers.keeps_order());
}

TEST_CASE("a command for a slot of another node is sent there, and so are the next ones") {
  Scene scene;
  FakeConnection at_two = scene.Redirect("a");
  at_two.Send("+1\r\n");
  CHECK(scene.said.Await(1) == Texts{"1"});
  CHECK_FALSE(scene.servers.keeps_order());
  scene.Get("a");
  CHECK(at_two.Next() == "GET a");
  scene.Get("b");  // of this slot nothing is known
  CHECK(scene.at_one.Next() == "GET b");
}

TEST_CASE("with the first redirect the map of the cluster is learned") {
  Scene scene;
  FakeConnection at_two = scene.Redirect("a", AllAt(scene.two));
  at_two.Send("+1\r\n");
  CHECK(scene.said.Await(1) == Texts{"1"});
  scene.Get("b");
  CHECK(at_two.Next() == "GET b");
}

TEST_CASE("an answer is given on the same thread, whichever node it comes from") {
  Scene scene;
  FakeConnection at_two = scene.Redirect("a");
  at_two.Send("+1\r\n");
  REQUIRE(scene.said.Await(1).size() == 1);
  std::vector<std::thread::id> threads(3);
  Said done;
  const auto note = [&](size_t place) {
    return [&, place](const RedisReply*) {
      threads[place] = std::this_thread::get_id();
      done.Add("");
    };
  };
  scene.servers.At(RedisServers::Clock::now(), [&] { note(0)(nullptr); });
  REQUIRE(scene.servers.Send("a", {"GET", "a"}, note(1)));
  REQUIRE(scene.servers.Send("b", {"GET", "b"}, note(2)));
  at_two.Send("+1\r\n");
  scene.at_one.Send("+1\r\n");
  REQUIRE(done.Await(3).size() == 3);
  CHECK(threads == std::vector<std::thread::id>(3, threads[0]));
}

TEST_CASE("a slot that is being moved is asked for at its next node once, as ASKING") {
  Scene scene;
  FakeConnection at_two = scene.Redirect("a");
  at_two.Send("+1\r\n");
  scene.Get("b");
  CHECK(scene.at_one.Next() == "GET b");
  scene.at_one.Send("-ASK " + std::to_string(RedisSlotOf("b")) + " " + At(scene.two) + "\r\n");
  CHECK(at_two.Next() == "ASKING");
  CHECK(at_two.Next() == "GET b");
  at_two.Send("+OK\r\n+moving\r\n");
  CHECK(scene.said.Await(2) == Texts{"1", "moving"});
  scene.Get("b");
  CHECK(scene.at_one.Next() == "GET b");
}

TEST_CASE("nodes that send a command round and round are followed a few times only") {
  Scene scene;
  scene.Get("a");
  int asked = 0;
  while (asked < 4) {
    const std::string got = scene.at_one.Next();
    REQUIRE((got == "GET a" || got == "CLUSTER SLOTS"));
    asked += got == "GET a" ? 1 : 0;
    scene.at_one.Send(got == "GET a" ? Moved("a", At(scene.one)) : kNoMap);
  }
  CHECK(scene.said.Await(1).front().starts_with("error: MOVED"));
}

TEST_CASE("redirects to ever more nodes make no more than a few connections") {
  Scene scene([](RedisServers::Options& options) { options.first_connection = 0ms; });
  constexpr int kMany = 100;
  std::string replies;
  for (int i = 0; i < kMany; ++i) {
    scene.Get(std::to_string(i));
    // Nothing listens there.
    replies += Moved(std::to_string(i), "127.0.0." + std::to_string(i + 2) + ":1");
  }
  scene.at_one.Send(replies);
  const Texts all = scene.said.Await(kMany);
  CHECK(std::ranges::count(all, "lost") == 31);
  CHECK(std::ranges::count_if(all, [](const std::string& each) {
          return each.starts_with("error: MOVED");
        }) == kMany - 31);
}

TEST_CASE("a node that is not connected and has no slot gives its place to another one") {
  Scene scene([](RedisServers::Options& options) { options.first_connection = 0ms; });
  constexpr int kFull = 31;
  std::string replies;
  for (int i = 0; i < kFull; ++i) {
    scene.Get("a");
    // Nothing listens there.
    replies += "-ASK 15495 127.0.0." + std::to_string(i + 2) + ":1\r\n";
  }
  scene.at_one.Send(replies);
  CHECK(scene.said.Await(kFull) == Texts(kFull, "lost"));
  scene.Get("a");
  scene.at_one.Send(Moved("a", At(scene.two)));
  scene.two.Accept().Greet();
}

TEST_CASE("a map is learned although nodes that have no slot in it took all places") {
  Scene scene([](RedisServers::Options& options) { options.first_connection = 0ms; });
  constexpr int kFull = 31;
  std::string replies;
  for (int i = 0; i < kFull; ++i) {
    const std::string key = std::to_string(i);
    scene.Get(key);
    replies += Moved(key, "127.0.0." + std::to_string(i + 2) + ":1");
  }
  scene.at_one.Send(replies);
  CHECK(scene.said.Await(kFull) == Texts(kFull, "lost"));
  scene.at_one.Send(AllAt(scene.two));
  scene.two.Accept().Greet();
}

TEST_CASE("the map of a cluster may have a range for each slot") {
  Scene scene;
  const auto node = [](const FakeRedis& redis) {
    return "*2\r\n" + Bulk(redis.address().host) + ":" + std::to_string(redis.address().port) +
           "\r\n";
  };
  const FakeRedis three = FakeRedis::OnPort();
  const std::string nodes[] = {node(scene.two), node(three)};
  std::string map = "*16384\r\n";
  for (int slot = 0; slot < kRedisSlots; ++slot) {
    const std::string number = ":" + std::to_string(slot) + "\r\n";
    map.append("*3\r\n").append(number).append(number).append(nodes[slot % 2]);
  }
  const FakeConnection at_two = scene.Redirect("a", map);
  FakeConnection at_three = three.Accept();  // which the map names alone
  at_three.Greet();
  CHECK(WaitUntil([&] { return scene.servers.state().connected == 2; }));
  CHECK(scene.servers.state().nodes == 2);
  REQUIRE(RedisSlotOf("c") % 2 == 1);
  scene.Get("c");
  CHECK(at_three.Next() == "GET c");
}

TEST_CASE("a node that has no slot any more is left") {
  Scene scene;
  FakeConnection at_two = scene.Redirect("a", "");
  scene.at_one.Send(AllAt(scene.one));  // by now
  CHECK(at_two.Next() == "closed");
  CHECK(scene.said.Await(1) == Texts{"lost"});
  scene.Get("a");
  CHECK(scene.at_one.Next() == "GET a");
}

TEST_CASE("redirects of a Redis behind a socket are not followed, and reported") {
  const FakeRedis local;
  const FakeRedis other = FakeRedis::OnPort();
  Said reports;
  Said said;
  RedisServers::Options options = OptionsFor(local.address());
  options.link.report = [&](std::string_view text) { reports.Add(std::string(text)); };
  RedisServers servers(options);
  FakeConnection peer = local.Accept();
  peer.Greet();
  REQUIRE(WaitUntil([&] { return servers.connected(); }));
  for (int i = 0; i < 2; ++i) {
    REQUIRE(servers.Send("a", {"GET", "a"}, said.Adding()));
    CHECK(peer.Next() == "GET a");
    peer.Send(Moved("a", At(other)));
  }
  CHECK(said.Await(2)[1].starts_with("error: MOVED"));
  CHECK(servers.state().connects == 1);
  REQUIRE(reports.all().size() == 1);
  CHECK(reports.all()[0].find("redis://") != std::string::npos);
}

TEST_CASE("the node of a redirect gets the site's user and password") {
  const FakeRedis one = FakeRedis::OnPort();
  const FakeRedis two = FakeRedis::OnPort();
  Said said;
  RedisServers::Options options = OptionsFor(one.address());
  options.link.address.user = "builder";
  options.link.password = "secret";
  RedisServers servers(options);
  const auto greet = [](FakeConnection* peer) {
    CHECK(peer->Next() == "AUTH builder secret");
    peer->Send("+OK\r\n");
    peer->Greet();
  };
  FakeConnection at_one = one.Accept();
  greet(&at_one);
  REQUIRE(WaitUntil([&] { return servers.connected(); }));
  REQUIRE(servers.Send("a", {"GET", "a"}, said.Adding()));
  CHECK(at_one.Next() == "GET a");
  at_one.Send(Moved("a", At(two)));
  FakeConnection at_two = two.Accept();
  greet(&at_two);
  CHECK(at_two.Next() == "GET a");
}

TEST_CASE("of several nodes that are named, one that is there is enough") {
  const FakeRedis two = FakeRedis::OnPort();
  RedisAddress gone;
  gone.host = "127.0.0.1";
  gone.port = 1;
  RedisServers::Options options = OptionsFor(gone);
  options.others = {two.address()};
  Said said;
  RedisServers servers(options);
  FakeConnection at_two = two.Accept();
  at_two.Greet();
  REQUIRE(WaitUntil([&] { return servers.connected(); }));
  REQUIRE(servers.Send("a", {"GET", "a"}, said.Adding()));
  CHECK(at_two.Next() == "GET a");
}

TEST_CASE("an unconnected node of the cluster is reported, although others are connected") {
  const auto half = [](const FakeRedis& one, const FakeRedis& two) {
    const auto range = [](const std::string& slots, const FakeRedis& redis) {
      return "*3\r\n" + slots + "*2\r\n" + Bulk(redis.address().host) + ":" +
             std::to_string(redis.address().port) + "\r\n";
    };
    return "*2\r\n" + range(":0\r\n:15494\r\n", one) + range(":15495\r\n:16383\r\n", two);
  };
  REQUIRE(RedisSlotOf("a") == 15495);
  Scene scene;
  FakeConnection at_two = scene.Redirect("a", half(scene.one, scene.two));
  CHECK(WaitUntil([&] { return scene.servers.state().connected == 2; }));
  CHECK(scene.servers.state().nodes == 2);
  CHECK(scene.servers.state().problem.empty());
  at_two = FakeConnection(-1);
  CHECK(WaitUntil([&] { return scene.servers.state().connected == 1; }));
  CHECK(scene.servers.state().nodes == 2);
  CHECK(scene.servers.state().problem.starts_with("redis://" + At(scene.two) + ": "));
  CHECK(scene.servers.connected());
}

TEST_CASE("the map is asked for again where a node that has slots is gone") {
  Scene scene;
  FakeConnection at_two = scene.Redirect("a");
  scene.servers.LookForSuccessors();
  scene.Get("b");
  CHECK(scene.at_one.Next() == "GET b");  // all are connected, so nothing was asked before
  at_two = FakeConnection(-1);
  CHECK(WaitUntil([&] { return scene.servers.state().connected == 1; }));
  scene.at_one.Send("+1\r\n");
  REQUIRE(scene.said.Await(2).size() == 2);  // "a" is lost, "b" is answered: nothing waits for them
  CHECK(WaitUntil([&] {                      // at most once a second
    scene.servers.LookForSuccessors();
    return scene.servers.state().pending == 2;  // with the PING of the second node
  }));
  CHECK(scene.at_one.Next() == "CLUSTER SLOTS");
  scene.at_one.Send(AllAt(scene.one));
  CHECK(WaitUntil([&] { return scene.servers.state().problem.empty(); }));
}

TEST_CASE("a node that was named and has no slot is not missed once the map is known") {
  RedisAddress gone;
  gone.host = "127.0.0.1";
  gone.port = 1;
  Scene scene([&](RedisServers::Options& options) { options.others = {gone}; });
  CHECK(scene.servers.state().nodes == 2);
  CHECK(WaitUntil(
      [&] { return scene.servers.state().problem.starts_with("redis://127.0.0.1:1: "); }));
  FakeConnection at_two = scene.Redirect("a", AllAt(scene.two));
  CHECK(WaitUntil([&] { return scene.servers.state().nodes == 1; }));
  CHECK(scene.servers.state().connected == 1);
  CHECK(scene.servers.state().problem.empty());
}

TEST_CASE("while a slot's node is gone, another one is asked where the slot is") {
  Scene scene;
  FakeConnection at_two = scene.Redirect("a");
  at_two = FakeConnection(-1);
  CHECK(scene.said.Await(1) == Texts{"lost"});
  scene.Get("a");
  CHECK(scene.at_one.Next() == "GET a");
}

TEST_CASE("a node is left alone after three slow answers in a row, and no other one") {
  Scene scene([](RedisServers::Options& options) { options.patience = 1ms; });
  FakeConnection at_two = scene.Redirect("a");
  CHECK(WaitUntil([&] {
    scene.servers.NoteSlow();
    return !scene.said.all().empty();
  }));
  CHECK(scene.said.all() == Texts{"lost"});
  CHECK(at_two.Next() == "closed");
  scene.Get("b");
  CHECK(scene.at_one.Next() == "GET b");
}

}  // namespace redis_servers_test
