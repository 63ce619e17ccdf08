// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <string>

#include "daemon/snapshot/selection.h"
#include "tests/unit/core/fake_deposits.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::DepositScope;
using Names = std::multiset<std::string>;

constexpr uid_t kAlice = 54321;
constexpr uid_t kBob = 54322;

Peer PeerOf(uid_t uid) {
  Peer peer;
  peer.uid = uid;
  return peer;
}

DepositRecord Record(uid_t uid, const std::string& name_space, int64_t used,
                     DepositScope::Kind kind = DepositScope::Kind::kUser) {
  DepositRecord record{.key = {}, .uid = uid, .scope = {kind, uid}, .name_space = name_space};
  record.fields = cccl_cache::Sha256("fields");
  record.size = 5;
  record.used = std::chrono::sys_seconds(std::chrono::seconds(used));
  record.key = cccl_cache::DepositKey(record.scope, IdentityOf(record));
  return record;
}

struct Scene {
  /// In which namespaces the chosen ones are.
  Names Choose(const SnapshotFilter& filter, uid_t uid = kAlice) {
    FakeDepositStore store;
    for (const DepositRecord& record :
         {Record(kAlice, "old", 50), Record(kAlice, "new", 200), Record(kBob, "bob's", 100),
          Record(kAlice, "new", 300, DepositScope::Kind::kGroup)}) {
      REQUIRE(store.Put(record, std::make_shared<const std::string>("bytes")));
    }
    Statistics statistics;
    const Deposits deposits({}, {store, statistics});
    const auto chosen = ChooseDeposits(deposits, PeerOf(uid), filter);
    CHECK(std::ranges::is_sorted(chosen, {}, &ChosenDeposit::identity));
    Names names;
    for (const ChosenDeposit& each : chosen) names.insert(each.record.name_space);
    return names;
  }
};

TEST_CASE("of a user's own deposits each goes once, of others' none, whoever asks") {
  Scene scene;
  CHECK(scene.Choose({}) == Names{"new", "old"});
  CHECK(scene.Choose({}, kBob) == Names{"bob's"});
  CHECK(scene.Choose({.all_users = true}, 0).empty());
  CHECK(scene.Choose({.uids = {kAlice}}, 0).empty());
  CHECK(scene.Choose({.uids = {kAlice}}) == Names{"new", "old"});
}

TEST_CASE("namespace and time narrow deposits, and what names a compiler leaves them out") {
  using std::chrono::seconds;
  using std::chrono::sys_seconds;
  Scene scene;
  CHECK(scene.Choose({.name_space = "old"}) == Names{"old"});
  CHECK(scene.Choose({.name_space = "bob's"}).empty());
  CHECK(scene.Choose({.since = sys_seconds(seconds(60))}) == Names{"new"});
  CHECK(scene.Choose({.until = sys_seconds(seconds(60))}) == Names{"old"});
  CHECK(scene.Choose({.toolchain = "13"}).empty());
  CHECK(scene.Choose({.arch = "sm_90"}).empty());
  CHECK(scene.Choose({.known = {IdentityOf(Record(kAlice, "old", 0))}}) == Names{"new"});
}

}  // namespace
}  // namespace cccl_cache::daemon
