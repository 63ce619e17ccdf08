// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The limits of waiting requests for a parse, and of misses.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "daemon/core/run/preamble_pool.h"
#include "tests/unit/core/preamble_pool_scene.h"

namespace cccl_cache::daemon::preamble_wishes_test {
namespace {

using Scene = testing::PreamblePoolScene;

TEST_CASE("if too many parses wait, the user with the most loses its oldest") {
  Scene scene({.wanted = 2});
  REQUIRE(scene.Shut());
  scene.Want("a", "1", 1000);
  scene.Want("b", "2", 1001);
  scene.Want("c", "3", 1001);
  scene.Open();
  REQUIRE(scene.WaitForParsed(3));
  CHECK(scene.Find("a") != nullptr);
  CHECK(scene.Find("c") != nullptr);
}

TEST_CASE("a user with too many waiting parses loses its oldest") {
  Scene scene({.wanted_per_uid = 2});
  REQUIRE(scene.Shut());
  scene.Want("a", "1", 1001);
  for (const char* key : {"b", "c", "d"}) scene.Want(key, "2", 1000);
  scene.Open();
  REQUIRE(scene.WaitForParsed(4));
  CHECK(scene.Find("b") == nullptr);
  for (const char* key : {"a", "c", "d"}) CHECK(scene.Find(key) != nullptr);
}

TEST_CASE("a user loses its oldest waiting parse if its parses hold too much memory") {
  Scene scene({.wanted_bytes_per_uid = 100});
  REQUIRE(scene.Shut());
  scene.Want("a", "1", 1001, 100);
  scene.Want("b", "1", 1000, 30);
  scene.Want("c", "1", 1000, 50);
  scene.Want("d", "1", 1000, 50);
  scene.Want("e", "1", 1000, 101);
  scene.Open();
  REQUIRE(scene.WaitForParsed(4));
  for (const char* key : {"a", "c", "d"}) CHECK(scene.Find(key) != nullptr);
  for (const char* key : {"b", "e"}) CHECK(scene.Find(key) == nullptr);
}

TEST_CASE("if waiting parses hold too much memory, the user with the most loses its oldest") {
  Scene scene({.wanted_bytes = 100});
  REQUIRE(scene.Shut());
  scene.Want("a", "1", 1000, 40);
  scene.Want("b", "1", 1001, 50);
  scene.Want("c", "1", 1002, 20);
  scene.Open();
  REQUIRE(scene.WaitForParsed(3));
  CHECK(scene.Find("b") == nullptr);
  for (const char* key : {"a", "c"}) CHECK(scene.Find(key) != nullptr);
}

TEST_CASE("the oldest of too many misses of a user is forgotten") {
  Scene scene({.missed_per_uid = 1});
  for (const char* key : {"a", "b", "a"}) scene.Miss(key);
  scene.Want("c");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("a") == nullptr);
  CHECK(scene.Find("c") != nullptr);
}

TEST_CASE("a preamble with unavailable files may be requested again at once") {
  Scene scene;
  scene.files.disk->Refuse("/inc/a.h", {ErrorCode::kFilesNeeded, "only the client can tell"});
  scene.asks = {"/inc/a.h"};
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("a") == nullptr);
  scene.Want("a");
  CHECK(scene.WaitForParsed(2));
}

}  // namespace
}  // namespace cccl_cache::daemon::preamble_wishes_test
