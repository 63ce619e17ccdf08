// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis/redis_address.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace redis_address_test {

using cccl_cache::daemon::ParseRedisUrl;
using cccl_cache::daemon::ParseRedisUrls;
using cccl_cache::daemon::RedisAddress;
using cccl_cache::daemon::ToUrl;

TEST_CASE("the URL of a Redis names its host, port, database and user") {
  const auto plain = ParseRedisUrl("redis://cache.example");
  REQUIRE(plain.ok());
  CHECK(plain->host == "cache.example");
  CHECK(plain->port == 6379);
  CHECK(plain->database == 0);
  CHECK_FALSE(plain->tls);
  const auto full = ParseRedisUrl("rediss://builder@10.0.0.7:7000/3");
  REQUIRE(full.ok());
  CHECK(full->tls);
  CHECK(full->user == "builder");
  CHECK(full->host == "10.0.0.7");
  CHECK(full->port == 7000);
  CHECK(full->database == 3);
  const auto six = ParseRedisUrl("redis://[fd00::1]:7000");
  REQUIRE(six.ok());
  CHECK(six->host == "fd00::1");
  CHECK(six->port == 7000);
  const auto local = ParseRedisUrl("unix:///run/redis/socket?db=2");
  REQUIRE(local.ok());
  CHECK(local->path == "/run/redis/socket");
  CHECK(local->host.empty());
  CHECK(local->database == 2);
}

TEST_CASE("ToUrl returns the URL that was parsed") {
  for (const std::string url :
       {"redis://cache.example:6379", "rediss://builder@10.0.0.7:7000/3", "redis://[fd00::1]:7000",
        "unix:///run/redis/socket?db=2", "unix://builder@/run/redis/socket"}) {
    CAPTURE(url);
    const auto address = ParseRedisUrl(url);
    REQUIRE(address.ok());
    CHECK(ToUrl(*address) == url);
  }
}

TEST_CASE(
    "a password in a URL is refused and not repeated, and the error names the password file") {
  for (const std::string url :
       {"redis://:secret@host", "redis://user:secret@host", "rediss://a:secret@b@host",
        "unix://u:secret@/socket", "http://u:secret@host"}) {
    CAPTURE(url);
    const auto address = ParseRedisUrl(url);
    REQUIRE_FALSE(address.ok());
    CHECK(address.error().message.find("--remote-password-file") != std::string::npos);
    CHECK(address.error().message.find("secret") == std::string::npos);
  }
}

TEST_CASE("an invalid address of a Redis is refused with the valid forms") {
  for (const std::string url : {"",
                                "host",
                                "http://host",
                                "redis://",
                                "redis://host:",
                                "redis://host:0",
                                "redis://host:65536",
                                "redis://host:6379x",
                                "redis://host/x",
                                "redis://host/-1",
                                "redis://ho st",
                                "redis://[fd00::1",
                                "redis://[fd00::1]7",
                                "redis://@host",
                                "redis://host?db=1",
                                "unix://",
                                "unix://relative",
                                "unix:///a?x=1",
                                "unix:///a?db=",
                                "unix:///a?db=99999999999"}) {
    CAPTURE(url);
    const auto address = ParseRedisUrl(url);
    REQUIRE_FALSE(address.ok());
    CHECK(address.error().message.find("rediss://") != std::string::npos);
  }
  CHECK_FALSE(ParseRedisUrl("unix:///" + std::string(200, 'a')).ok());
  CHECK_FALSE(ParseRedisUrl("redis://" + std::string(300, 'a')).ok());
}

TEST_CASE("a URL may name several hosts, which share its other parts") {
  const auto urls = ParseRedisUrls("rediss://builder@a.example,10.0.0.7:7000,[fd00::1]:7001/3");
  REQUIRE(urls.ok());
  std::vector<std::string> shown;
  for (const RedisAddress& each : *urls) shown.push_back(ToUrl(each));
  CHECK(shown == std::vector<std::string>{"rediss://builder@a.example:6379/3",
                                          "rediss://builder@10.0.0.7:7000/3",
                                          "rediss://builder@[fd00::1]:7001/3"});
  const auto local = ParseRedisUrls("unix:///run/a,b/socket");
  REQUIRE(local.ok());
  REQUIRE(local->size() == 1);
  CHECK(local->front().path == "/run/a,b/socket");
}

TEST_CASE("a list with a wrong host, too many hosts or a password is refused") {
  std::string many = "redis://h";
  for (int i = 0; i < 16; ++i) many += ",h";
  for (const std::string url : {"redis://a,", "redis://,a", "redis://a,,b", "redis://a,b:0",
                                "redis://a/1,b", "redis://u:secret@a,b", "redis://a,u:secret@b"}) {
    CAPTURE(url);
    const auto address = ParseRedisUrls(url);
    REQUIRE_FALSE(address.ok());
    CHECK(address.error().message.find("secret") == std::string::npos);
  }
  CHECK_FALSE(ParseRedisUrls(many).ok());
}

}  // namespace redis_address_test
