// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/preamble_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/unit/core/preamble_pool_scene.h"

namespace cccl_cache::daemon::preamble_pool_test {
namespace {

using cccl_cache::Sha256;
using Scene = testing::PreamblePoolScene;

TEST_CASE("a wanted preamble is parsed in the background and found") {
  Scene scene;
  CHECK(scene.Find("a") == nullptr);
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("a") != nullptr);
  CHECK(scene.Find("b") == nullptr);
  scene.Want("a");
  scene.Want("b");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.parsed == 2);
}

TEST_CASE("the pool holds no lock while it checks whether a preamble is usable") {
  Scene scene;
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  REQUIRE(scene.Find("a") != nullptr);
  std::atomic<int> asked = 0;
  scene.last->when_asked = [&] {
    // Would wait forever if the pool were locked.
    if (++asked % 2 == 1) CHECK(scene.Find("b") == nullptr);
  };
  CHECK(scene.Find("a") != nullptr);
  scene.Want("c");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(asked > 1);
  REQUIRE(scene.Find("c") != nullptr);
  scene.last->Spoil();
  CHECK(scene.Find("c") == nullptr);
  CHECK(scene.Find("a") != nullptr);
}

TEST_CASE("a preamble is parsed after its second miss, not after the first") {
  Scene scene;
  scene.Miss("once");
  scene.Want("twice");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("twice") != nullptr);
  CHECK(scene.Find("once") == nullptr);
  scene.Miss("once");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("once") != nullptr);
}

TEST_CASE("users take turns with the parsing of preambles") {
  Scene scene;
  REQUIRE(scene.Shut());
  for (const char* key : {"a", "b", "c"}) scene.Want(key, "200", 1000);
  scene.Want("d", "300", 1001);
  scene.Open();
  REQUIRE(scene.WaitForParsed(5));
  CHECK(scene.Find("c") != nullptr);
  CHECK(scene.Sizes() == std::vector<std::string>{"100", "300", "200", "200", "200"});
}

using Clock = PreamblePool::Clock;
constexpr auto kLong = std::chrono::hours(1);

TEST_CASE("Await waits for a preamble that is being parsed") {
  Scene scene;
  REQUIRE(scene.Shut(kLong));
  auto found = std::async(std::launch::async, [&] {
    return scene.pool->Await(Sha256("shut in"), Clock::time_point::max(), {});
  });
  scene.Open();
  CHECK(found.get() != nullptr);
}

TEST_CASE("Await does not wait if a full compile is faster or the only way") {
  Scene scene;
  const auto shortest = GENERATE(std::chrono::hours(0), kLong);
  REQUIRE(scene.Shut(shortest));
  scene.Want("behind it", "100", 1000, 0, kLong);
  const auto await = [&](const char* key, Clock::time_point deadline = Clock::time_point::max(),
                         const std::stop_token& stop = {}) {
    return scene.pool->Await(Sha256(key), deadline, stop);
  };
  CHECK(await("behind it") == nullptr);
  CHECK(await("unknown") == nullptr);
  CHECK(await("shut in", Clock::now() + kLong / 2) == nullptr);
  std::stop_source stop;
  stop.request_stop();
  CHECK(await("shut in", Clock::time_point::max(), stop.get_token()) == nullptr);
  if (shortest != kLong) CHECK(await("shut in") == nullptr);
}

TEST_CASE("the user with most preambles loses one for another user's") {
  Scene scene({.bytes = 250});
  scene.Want("a", "100", 1000);
  REQUIRE(scene.WaitForParsed(1));
  scene.Want("b", "40", 1001);
  REQUIRE(scene.WaitForParsed(2));
  scene.Want("c", "100", 1000);
  REQUIRE(scene.WaitForParsed(3));
  scene.Want("d", "40", 1002);
  REQUIRE(scene.WaitForParsed(4));
  CHECK(scene.Find("a") == nullptr);
  for (const char* key : {"b", "c", "d"}) CHECK(scene.Find(key) != nullptr);
}

TEST_CASE("the recorded files of a preamble count as its bytes") {
  const std::string name = "/" + std::string(600, 'x');
  Scene scene({.bytes = 1000});
  scene.asks = {name};
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("a") != nullptr);
  scene.Want("b");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("a") == nullptr);
  CHECK(scene.Find("b") != nullptr);
}

TEST_CASE("a preamble with too large a record of files is not kept") {
  Scene scene({.record_bytes = 500});
  scene.asks = {"/" + std::string(600, 'x')};
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("a") == nullptr);
}

TEST_CASE("a preamble whose header shows the name of the program or a function is not kept") {
  Scene scene;
  const char* const shown = GENERATE("__BASE_FILE__", "__PRETTY_FUNCTION__");
  scene.files.disk->Write("/inc/a.h", std::string("const char* name = ") + shown + ";");
  scene.files.disk->Write("/inc/b.h", "#define NAME __PRETTY_FUNCTION__\nf(__FILE__);");
  scene.asks = {"/inc/b.h"};
  scene.Want("b");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("b") != nullptr);
  scene.asks = {"/inc/a.h"};
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("a") == nullptr);
}

TEST_CASE("the least recently used preambles are dropped when there are too many bytes") {
  Scene scene({.bytes = 250});
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  scene.Want("b");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("a") != nullptr);
  scene.Want("c");
  REQUIRE(scene.WaitForParsed(3));
  CHECK(scene.Find("b") == nullptr);
  CHECK(scene.Find("a") != nullptr);
  CHECK(scene.Find("c") != nullptr);
}

TEST_CASE("the least recently used preambles are dropped when there are too many") {
  Scene scene({.preambles = 1});
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  scene.Want("b");
  REQUIRE(scene.WaitForParsed(2));
  scene.Miss("a");
  scene.Miss("b");
  CHECK(scene.Find("a") == nullptr);
  CHECK(scene.Find("b") != nullptr);
}

TEST_CASE("a preamble that failed or is too large is not tried again soon") {
  Scene scene({.bytes = 1000});
  scene.Want("fails", "");
  REQUIRE(scene.WaitForParsed(1));
  scene.Want("large", "1001");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("large") == nullptr);
  scene.Want("fails", "");
  scene.Want("large", "1001");
  scene.Want("good");
  REQUIRE(scene.WaitForParsed(3));
  CHECK(scene.parsed == 3);
  CHECK(scene.statistics.Get(Counter::kPreambleFailures) == 2);
}

TEST_CASE("a preamble that was dropped, or lost its zygote, is parsed again after two misses") {
  Scene scene;
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  const ParsedPreamblePtr first = scene.Find("a");
  REQUIRE(first != nullptr);
  SECTION("dropped") { scene.pool->Drop(Sha256("a"), first); }
  SECTION("its zygote is gone") { scene.last->Spoil(); }
  CHECK(scene.Find("a") == nullptr);
  scene.Miss("a");
  scene.Want("b");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("a") == nullptr);
  scene.Miss("a");
  REQUIRE(scene.WaitForParsed(3));
  const ParsedPreamblePtr second = scene.Find("a");
  CHECK(second != nullptr);
  CHECK(second != first);
  scene.pool->Drop(Sha256("a"), first);
  CHECK(scene.Find("a") == second);
}

TEST_CASE("a preamble that was blamed for a failed build is not parsed again soon") {
  Scene scene;
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  const ParsedPreamblePtr parsed = scene.Find("a");
  REQUIRE(parsed != nullptr);
  SECTION("while it is usable") {
    scene.pool->Blame(Sha256("a"), parsed);
    scene.Want("a");
    scene.Want("b");
    REQUIRE(scene.WaitForParsed(2));
    CHECK(scene.Find("a") == nullptr);
    CHECK(scene.Find("b") != nullptr);
  }
  SECTION("unless its zygote is gone") {
    scene.last->Spoil();
    scene.pool->Blame(Sha256("a"), parsed);
    scene.Want("a");
    REQUIRE(scene.WaitForParsed(2));
    CHECK(scene.Find("a") != nullptr);
  }
}

TEST_CASE("without memory for preambles none is parsed") {
  Scene scene({.bytes = 0});
  scene.Want("a");
  scene.Want("a");
  scene.pool->Stop();
  CHECK(scene.parsed == 0);
}

}  // namespace
}  // namespace cccl_cache::daemon::preamble_pool_test
