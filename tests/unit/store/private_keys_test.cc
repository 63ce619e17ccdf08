// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "daemon/store/private_store.h"
#include "tests/unit/store/store_scene.h"

namespace cccl_cache::daemon {
namespace {

using store_test::Key;
using store_test::Numbered;
using store_test::StoreScene;

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;

Result<Inserted> Put(StoreScene& scene, uint64_t number, uint64_t generation = 1) {
  return scene->own().Put(kAlice, Key(number), Numbered(number, 300), generation);
}

bool MayHave(StoreScene& scene, uint64_t number) {
  return scene->own().MayHave(kAlice, Key(number));
}

/// As a build does that finds nothing in memory.
void Look(StoreScene& scene) { (void)scene->own().Get(kAlice, Key(999)); }

TEST_CASE("which entries a user has is known once one of them was looked for") {
  StoreScene scene;
  REQUIRE(Put(scene, 1));
  for (int opening = 0; opening < 2; ++opening) {
    CHECK(MayHave(scene, 1));
    CHECK(MayHave(scene, 2));
    Look(scene);
    CHECK(MayHave(scene, 1));
    CHECK_FALSE(MayHave(scene, 2));
    scene.Reopen();
  }
}

TEST_CASE("what is inserted is known, and what goes for it is known to be gone") {
  RocksdbStoreOptions options;
  options.private_limits = {.per_user = 1'500, .in_all = 1 << 20};
  StoreScene scene(options);
  REQUIRE(Put(scene, 1));
  Look(scene);
  REQUIRE(Put(scene, 2));
  CHECK(MayHave(scene, 1));
  CHECK(MayHave(scene, 2));
  REQUIRE(Put(scene, 2, 2));
  CHECK(MayHave(scene, 2));
  REQUIRE(Put(scene, 3, 3));
  CHECK(MayHave(scene, 3));
  for (const uint64_t number : {1, 2}) {
    CHECK(MayHave(scene, number) == (scene->own().Get(kAlice, Key(number)).artifact != nullptr));
  }
  CHECK_FALSE((MayHave(scene, 1) && MayHave(scene, 2)));
}

TEST_CASE("who has too many is asked for each of them, and others are not") {
  RocksdbStoreOptions options;
  options.private_limits.known_keys = {.per_user = 1, .in_all = 10};
  StoreScene scene(options);
  REQUIRE(scene->own().Put(kBob, Key(1), Numbered(1, 300), 1));
  (void)scene->own().Get(kBob, Key(999));
  for (const uint64_t number : {1, 2}) REQUIRE(Put(scene, number));
  Look(scene);
  CHECK(MayHave(scene, 3));
  CHECK_FALSE(scene->own().MayHave(kBob, Key(3)));
}

TEST_CASE("of all users together so many keys are known and no more") {
  PrivateKeys keys({.per_user = 3, .in_all = 4});
  keys.Learn(kAlice, {Key(1), Key(2), Key(3)});
  keys.Learn(kBob, {Key(1)});
  CHECK_FALSE(keys.MayHave(kBob, Key(2)));
  keys.Add(kBob, Key(2));
  CHECK(keys.MayHave(kBob, Key(3)));
  CHECK_FALSE(keys.Lacks(kBob));
  CHECK_FALSE(keys.MayHave(kAlice, Key(4)));
  keys.Remove(kAlice, Key(1));
  keys.Learn(1002, {Key(1), Key(2)});
  CHECK_FALSE(keys.MayHave(1002, Key(3)));
}

TEST_CASE("what is not known any more may be there") {
  PrivateKeys keys({});
  keys.Learn(kAlice, {Key(1)});
  CHECK_FALSE(keys.MayHave(kAlice, Key(2)));
  keys.Forget(kAlice);
  CHECK(keys.MayHave(kAlice, Key(2)));
  CHECK(keys.Lacks(kAlice));
}

}  // namespace
}  // namespace cccl_cache::daemon
