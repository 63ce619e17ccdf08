// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/selection.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/core/fake_deposits.h"
#include "tests/unit/snapshot/fake_answered.h"

namespace cccl_cache::daemon::selection_test {
namespace {

using cccl_cache::DepositScope;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using testing::FakeAnswered;
using Names = std::vector<std::string>;

constexpr uid_t kAlice = 54321;
constexpr uid_t kBob = 54322;

AnsweredBuild Build(const std::string& name, const std::string& version = "13.0",
                    const std::string& arch = "sm_90", int64_t last = 100) {
  return {cccl_cache::Sha256(name),
          cccl_cache::Sha256("fingerprint" + name),
          cccl_cache::Sha256(version),
          version,
          arch,
          sys_seconds(seconds(last))};
}

Peer PeerOf(uid_t uid) {
  Peer peer;
  peer.uid = uid;
  peer.administrator = uid == 0 || uid == geteuid();
  return peer;
}

struct Scene {
  Scene() {
    answered.Note(kAlice, Build("old", "12.9", "sm_80", 50));
    answered.Note(kAlice, Build("new", "13.0", "sm_90", 200));
    answered.Note(kBob, Build("new", "13.0", "sm_90", 300));
    answered.Note(kBob, Build("bob's"));
  }
  Names Choose(const SnapshotFilter& filter, uid_t uid = kAlice) {
    const auto chosen = ChooseBuilds(answered, PeerOf(uid), filter);
    REQUIRE(chosen.ok());
    CHECK(std::ranges::is_sorted(*chosen, {}, [](const auto& each) { return each.build.key; }));
    Names names;
    for (const char* name : {"bob's", "new", "old"}) {
      const auto count = std::ranges::count(*chosen, cccl_cache::Sha256(name),
                                            [](const auto& each) { return each.build.key; });
      names.insert(names.end(), static_cast<size_t>(count), name);
    }
    return names;
  }
  ErrorCode Refusal(const SnapshotFilter& filter, uid_t uid) {
    const auto chosen = ChooseBuilds(answered, PeerOf(uid), filter);
    REQUIRE_FALSE(chosen.ok());
    return chosen.error().code;
  }

  FakeAnswered answered;
};

TEST_CASE("without a filter all answered builds of the user are chosen") {
  Scene scene;
  CHECK(scene.Choose({}) == Names{"new", "old"});
  CHECK(scene.Choose({}, kBob) == Names{"bob's", "new"});
  CHECK(scene.Choose({}, 7).empty());
}

TEST_CASE("each field of the filter narrows the choice") {
  Scene scene;
  CHECK(scene.Choose({.toolchain = "12"}) == Names{"old"});
  CHECK(scene.Choose({.toolchain = "12.9"}) == Names{"old"});
  CHECK(scene.Choose({.toolchain = "1"}).empty());
  const std::string id = cccl_cache::Sha256("13.0").Hex();
  CHECK(scene.Choose({.toolchain = id.substr(0, 8)}) == Names{"new"});
  CHECK(scene.Choose({.toolchain = id.substr(0, 7)}).empty());
  CHECK(scene.Choose({.arch = "sm_80"}) == Names{"old"});
  CHECK(scene.Choose({.since = sys_seconds(seconds(200))}) == Names{"new"});
  CHECK(scene.Choose({.until = sys_seconds(seconds(200))}) == Names{"old"});
  CHECK(scene.Choose({.known = {cccl_cache::Sha256("new")}}) == Names{"old"});
}

TEST_CASE("wanted keys narrow the choice within the user's answered builds") {
  Scene scene;
  std::vector<cccl_cache::Digest> wanted = {cccl_cache::Sha256("new"), cccl_cache::Sha256("bob's")};
  std::ranges::sort(wanted);
  CHECK(scene.Choose({.only_wanted = true, .wanted = wanted}) == Names{"new"});
  CHECK(scene.Choose({.only_wanted = true, .wanted = wanted}, kBob) == Names{"bob's", "new"});
  CHECK(scene.Choose({.only_wanted = true}).empty());
}

TEST_CASE("a filter by namespace chooses no builds") {
  Scene scene;
  CHECK(scene.Choose({.name_space = "julia"}).empty());
}

TEST_CASE("a user that the filter names repeatedly is read once") {
  Scene scene;
  CHECK(scene.Choose({.uids = std::vector<uid_t>(1000, kAlice)}) == Names{"new", "old"});
  CHECK(scene.answered.readings == 1);
}

TEST_CASE("an administrator chooses among all users, each build once") {
  Scene scene;
  CHECK(scene.Choose({.all_users = true}, 0) == Names{"bob's", "new", "old"});
  CHECK(scene.Choose({.all_users = true}, geteuid()) == Names{"bob's", "new", "old"});
  CHECK(scene.Choose({.uids = {kBob}}, 0) == Names{"bob's", "new"});
  CHECK(scene.Choose({}, 0).empty());
}

TEST_CASE("only administrators may name others, but every user may name itself") {
  Scene scene;
  CHECK(scene.Refusal({.all_users = true}, kAlice) == ErrorCode::kDenied);
  CHECK(scene.Refusal({.uids = {kAlice, kBob}}, kAlice) == ErrorCode::kDenied);
  CHECK(scene.Choose({.uids = {kAlice}}) == Names{"new", "old"});
}

TEST_CASE("a choice by the overflow uid is denied") {
  Scene scene;
  CHECK(scene.Refusal({}, kOverflowUid) == ErrorCode::kDenied);
}

using ChosenDepositsNames = std::multiset<std::string>;

Peer ChosenDepositsPeerOf(uid_t uid) {
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

struct ChosenDepositsScene {
  ChosenDepositsNames Choose(const SnapshotFilter& filter, uid_t uid = kAlice) {
    FakeDepositStore store;
    for (const DepositRecord& record :
         {Record(kAlice, "old", 50), Record(kAlice, "new", 200), Record(kBob, "bob's", 100),
          Record(kAlice, "new", 300, DepositScope::Kind::kGroup)}) {
      REQUIRE(store.Put(record, std::make_shared<const std::string>("bytes")));
    }
    Statistics statistics;
    const Deposits deposits({}, {store, statistics});
    const auto chosen = ChooseDeposits(deposits, ChosenDepositsPeerOf(uid), filter);
    CHECK(std::ranges::is_sorted(chosen, {}, &ChosenDeposit::identity));
    ChosenDepositsNames names;
    for (const ChosenDeposit& each : chosen) names.insert(each.record.name_space);
    return names;
  }
};

TEST_CASE("a caller gets each of its own deposits once, and none of other users") {
  ChosenDepositsScene scene;
  CHECK(scene.Choose({}) == ChosenDepositsNames{"new", "old"});
  CHECK(scene.Choose({}, kBob) == ChosenDepositsNames{"bob's"});
  CHECK(scene.Choose({.all_users = true}, 0).empty());
  CHECK(scene.Choose({.uids = {kAlice}}, 0).empty());
  CHECK(scene.Choose({.uids = {kAlice}}) == ChosenDepositsNames{"new", "old"});
}

TEST_CASE(
    "namespace and time narrow deposits; a filter by toolchain or architecture excludes them") {
  using std::chrono::seconds;
  using std::chrono::sys_seconds;
  ChosenDepositsScene scene;
  CHECK(scene.Choose({.name_space = "old"}) == ChosenDepositsNames{"old"});
  CHECK(scene.Choose({.name_space = "bob's"}).empty());
  CHECK(scene.Choose({.since = sys_seconds(seconds(60))}) == ChosenDepositsNames{"new"});
  CHECK(scene.Choose({.until = sys_seconds(seconds(60))}) == ChosenDepositsNames{"old"});
  CHECK(scene.Choose({.toolchain = "13"}).empty());
  CHECK(scene.Choose({.arch = "sm_90"}).empty());
  CHECK(scene.Choose({.known = {IdentityOf(Record(kAlice, "old", 0))}}) ==
        ChosenDepositsNames{"new"});
}

}  // namespace
}  // namespace cccl_cache::daemon::selection_test
