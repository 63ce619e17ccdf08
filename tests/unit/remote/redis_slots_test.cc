// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis_slots.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

namespace redis_slots_test {

using namespace cccl_cache::daemon;

TEST_CASE("keys are in the slots that Redis puts them into") {
  // The first is the check value of CRC16 XMODEM, 0x31C3; the others are what Redis 7 answers to
  // CLUSTER KEYSLOT.
  const std::pair<std::string, uint16_t> vectors[] = {{"123456789", 0x31C3},
                                                      {"foo", 12182},
                                                      {"bar", 5061},
                                                      {"hello", 866},
                                                      {"", 0},
                                                      {"{user1000}.following", 3443},
                                                      {"user1000", 3443},
                                                      {"foo{}{bar}", 8363},
                                                      {"foo{{bar}}zap", 4015},
                                                      {"{bar", 4015},
                                                      {"foo{bar}{zap}", 5061},
                                                      {"foo{bar", 15278},
                                                      {"a}{b}", 3300}};
  for (const auto& [key, slot] : vectors) {
    CAPTURE(key);
    CHECK(RedisSlotOf(key) == slot);
  }
}

TEST_CASE("a redirect names a slot and a node") {
  const auto moved = ParseRedisRedirect("MOVED 3999 10.0.0.7:6381");
  REQUIRE(moved);
  CHECK_FALSE(moved->once);
  CHECK(moved->slot == 3999);
  CHECK(moved->node.host == "10.0.0.7");
  CHECK(moved->node.port == 6381);
  const auto ask = ParseRedisRedirect("ASK 0 fd00::1:7000");
  REQUIRE(ask);
  CHECK(ask->once);
  CHECK(ask->node.host == "fd00::1");
  const auto same = ParseRedisRedirect("MOVED 16383 :7000");
  REQUIRE(same);
  CHECK(same->node.host.empty());
}

TEST_CASE("a reply that is no redirect, or a malformed one, is followed nowhere") {
  for (const std::string error :
       {"ERR unknown command", "MOVED", "MOVED 1", "MOVED 1 ", "MOVED 16384 host:1",
        "MOVED -1 host:1", "MOVED x host:1", "MOVED 1 host", "MOVED 1 host:0", "MOVED 1 host:65536",
        "MOVED 1 host:1 x", "MOVED 1 ho st:1", "MOVED 1 user@host:1", "MOVED 1 ?:1",
        "moved 1 host:1", "MOVEDX 1 host:1"}) {
    CAPTURE(error);
    CHECK_FALSE(ParseRedisRedirect(error));
  }
}

RedisReply Integer(int64_t integer) {
  return {.kind = RedisReply::Kind::kInteger, .text = "", .integer = integer, .items = {}};
}
RedisReply Text(const std::string& text) {
  return {.kind = RedisReply::Kind::kText, .text = text, .integer = 0, .items = {}};
}
RedisReply Array(std::vector<RedisReply> items) {
  return {.kind = RedisReply::Kind::kArray, .text = "", .integer = 0, .items = std::move(items)};
}

TEST_CASE("the map of a cluster names the master of each range of slots") {
  const RedisReply master = Array({Text("10.0.0.1"), Integer(7000), Text("id"), Array({})});
  const RedisReply replica = Array({Text("10.0.0.2"), Integer(7000), Text("id")});
  const RedisReply local = Array({RedisReply{}, Integer(7001)});
  const auto ranges = ParseRedisSlots(Array({Array({Integer(0), Integer(99), master, replica}),
                                             Array({Integer(100), Integer(16383), local})}));
  REQUIRE(ranges.size() == 2);
  CHECK(ranges[0].first == 0);
  CHECK(ranges[0].last == 99);
  CHECK(ranges[0].node.host == "10.0.0.1");
  CHECK(ranges[0].node.port == 7000);
  CHECK(ranges[1].last == 16383);
  CHECK(ranges[1].node.host.empty());
}

TEST_CASE("malformed parts of a map are left out") {
  const RedisReply node = Array({Text("10.0.0.1"), Integer(7000)});
  for (const RedisReply& part :
       {Integer(1), Array({}), Array({Integer(0), Integer(1)}),
        Array({Integer(-1), Integer(1), node}), Array({Integer(2), Integer(1), node}),
        Array({Integer(0), Integer(16384), node}), Array({Text("0"), Integer(1), node}),
        Array({Integer(0), Integer(1), Array({Text("h")})}),
        Array({Integer(0), Integer(1), Array({Text("?"), Integer(7000)})}),
        Array({Integer(0), Integer(1), Array({Text("h"), Integer(0)})}),
        Array({Integer(0), Integer(1), Array({Text("h"), Integer(65536 + 7000)})})}) {
    CHECK(ParseRedisSlots(Array({part})).empty());
  }
  CHECK(ParseRedisSlots(Text("OK")).empty());
}

}  // namespace redis_slots_test
