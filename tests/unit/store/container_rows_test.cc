// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/container_rows.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "daemon/core/model/account.h"
#include "tests/unit/store/store_fixtures.h"
#include "tests/unit/store/store_scene.h"

namespace cccl_cache::daemon::container_rows_test {
namespace {

using store_test::Key;
using store_test::Numbered;
using store_test::StoreScene;

constexpr uid_t kAlice = 1000;
constexpr uid_t kContained = kFirstContainerUser + 1;

AnsweredBuild Build(uint64_t number) {
  return {.key = Key(number), .fingerprint = Key(number), .toolchain = Key(13)};
}

DepositRecord Record(uint64_t number, uid_t uid) {
  return {.key = Key(number),
          .uid = uid,
          .scope = {cccl_cache::DepositScope::Kind::kUser, uid},
          .name_space = "org.example",
          .size = 5};
}

std::vector<uid_t> OwnersOfDeposits(StoreScene& scene) {
  std::vector<uid_t> owners;
  for (const DepositRecord& record : scene->deposits().Records()) owners.push_back(record.uid);
  return owners;
}

void Keep(StoreScene& scene, uid_t uid, uint64_t number) {
  REQUIRE(scene->own().Put(uid, Key(number), Numbered(number, 10'000), 1));
  scene->answered().Note(uid, Build(number));
  REQUIRE(scene->deposits().Put(Record(number, uid), std::make_shared<const std::string>("bytes")));
}

TEST_CASE("a start drops only the rows of containers of an earlier run") {
  StoreScene scene;
  Keep(scene, kAlice, 1);
  Keep(scene, kContained, 2);
  CHECK(scene->own().MayHave(kContained, Key(2)));
  scene.Reopen();
  CHECK(scene->own().Users() == std::vector{kAlice});
  CHECK(scene->own().Get(kAlice, Key(1)).artifact != nullptr);
  CHECK(scene->own().Get(kContained, Key(2)).artifact == nullptr);
  CHECK(scene->answered().Users() == std::vector{kAlice});
  CHECK_FALSE(scene->answered().Has(kContained, Key(2)));
  CHECK(OwnersOfDeposits(scene) == std::vector{kAlice});
}

TEST_CASE("deposits of containers of this run stay when the deposits on the disk are read again") {
  StoreScene scene;
  REQUIRE(scene->deposits().Put(Record(1, kContained), std::make_shared<const std::string>("a")));
  CHECK(WaitUntil([&] { return OwnersOfDeposits(scene) == std::vector{kContained}; }));
  CHECK(OwnersOfDeposits(scene) == std::vector{kContained});
}

TEST_CASE("limits do not count rows of containers of an earlier run") {
  StoreScene scene;
  RocksdbStoreOptions options;
  options.private_limits = {40'000, 40'000};
  scene.Reopen(options);
  Keep(scene, kContained, 1);
  Keep(scene, kContained, 2);
  scene.Reopen(options);
  // Both entries fit, because the rows of the container are gone.
  Keep(scene, kAlice, 3);
  Keep(scene, kAlice, 4);
  CHECK(scene->own().Get(kAlice, Key(3)).artifact != nullptr);
}

TEST_CASE("a start drops the rows in which earlier versions kept the order of private entries") {
  StoreScene scene;
  scene.Close();
  const auto with_database = [&](auto use) {
    auto opened = Database::Open(scene.state() + "/database", {});
    REQUIRE(opened.index() == 0);
    use(*std::get<0>(opened));
  };
  with_database([](Database& database) {
    const ColumnWrite row{Column::kPrivateOrder, UserRowKey(kAlice, Key(1)), ""};
    REQUIRE_FALSE(database.Write({&row, 1}));
  });
  scene.Reopen();
  scene.Close();
  with_database([](Database& database) {
    CHECK_FALSE(database.Scan(Column::kPrivateOrder, "", [](std::string_view, std::string_view) {
      FAIL("a row is left");
      return false;
    }));
  });
}

}  // namespace
}  // namespace cccl_cache::daemon::container_rows_test
