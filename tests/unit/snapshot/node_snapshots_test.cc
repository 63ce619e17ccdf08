// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/node_snapshots.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <future>
#include <latch>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "daemon/core/lookup/eviction_log.h"
#include "proto/snapshot/snapshot_reader.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/core/fake_deposits.h"
#include "tests/unit/core/fake_private_entries.h"
#include "tests/unit/core/fakes.h"
#include "tests/unit/proto/snapshot_texts.h"
#include "tests/unit/snapshot/fake_answered.h"
#include "tests/unit/snapshot/snapshot_maker.h"

namespace cccl_cache::daemon::node_snapshots_test {
namespace {

using cccl_cache::SnapshotItem;
using cccl_cache::SnapshotReader;
using testing::FakeAnswered;
using testing::FakePrivateEntries;
using testing::MapTier;
using testing::SnapshotNamed;
using Names = std::vector<std::string>;

constexpr uid_t kAlice = 54321;
constexpr uid_t kBob = 54322;
constexpr uint64_t kDepositQuota = 1 << 20;

Peer PeerOf(uid_t uid) {
  Peer peer;
  peer.uid = uid;
  peer.administrator = uid == 0 || uid == geteuid();
  return peer;
}

Names OutputsIn(const std::string& file) {
  const cccl_cache::testing::Text text(file);
  const auto reader = SnapshotReader::Open(text);
  REQUIRE(std::holds_alternative<SnapshotReader>(reader));
  Names outputs;
  std::string stored;
  const auto& whole = std::get<SnapshotReader>(reader);
  REQUIRE(whole
              .ForEach([&](const SnapshotItem& item, uint64_t offset) {
                REQUIRE(whole.Read(item, offset, &stored).empty());
                const auto record = DecodeArtifactRecord(item.key, *Decompress(stored, item.bytes));
                REQUIRE(record);
                outputs.push_back(record->artifact->parts.at(0).bytes);
                return true;
              })
              .empty());
  return outputs;
}

struct Scene {
  SnapshotCaller Caller(uid_t uid) {
    return {.peer = PeerOf(uid),
            .hold = [this](uint64_t bytes) -> Status {
              if (bytes > free) return Error{ErrorCode::kOverloaded, "too much at once"};
              most_held = std::max(most_held, bytes);
              return Ok{};
            },
            .left = {}};
  }
  /// Records that a user got an answer to the build of a name.
  void Answer(uid_t uid, const std::string& name) {
    const ArtifactRecord record = testing::RecordOf(name);
    answered.Note(uid, {record.key(), record.fingerprint, {}, "13.0", "sm_90", {}});
  }
  void Share(const std::string& name, const std::string& output) {
    disk.Put(testing::RecordOf(name).key(), testing::RecordOf(output).artifact);
  }
  std::string Create(uid_t uid, const SnapshotFilter& filter = {}) {
    std::string file;
    const auto made = snapshots.Create(Caller(uid), filter, [&](std::string_view bytes) -> Status {
      file.append(bytes);
      return Ok{};
    });
    REQUIRE(made.ok());
    return file;
  }
  Result<SnapshotSummary> Insert(uid_t uid, const std::string& file) {
    auto incoming = snapshots.Receive(Caller(uid));
    if (!incoming) return incoming.error();
    if (Status appended = (*incoming)->Append(file); !appended) return appended.error();
    return (*incoming)->Finish();
  }

  uint64_t free = 1 << 30;
  uint64_t most_held = 0;
  TemporaryDirectory directory;
  FakeAnswered answered;
  FakePrivateEntries own;
  MapTier disk{TierName::kDisk};
  EvictionLog eviction_log;
  BuildCache memory{{&disk}, eviction_log, {}, &own};
  FakeDepositStore store;
  Statistics statistics;
  Deposits deposits{{.limits = {.bytes_per_uid = kDepositQuota}}, {store, statistics}};
  NodeSnapshots snapshots{{.answered = answered,
                           .own = own,
                           .cache = memory,
                           .deposits = deposits,
                           .tiers = {&disk},
                           .directory = directory.path(),
                           .shared_limit = 1 << 20,
                           .await_room = [] {}}};
};

TEST_CASE("an entry that a user inserts is kept for that user alone") {
  Scene scene;
  const auto kept = scene.Insert(kBob, SnapshotNamed({"one"}));
  REQUIRE(kept.ok());
  CHECK(kept->records == 1);
  CHECK_FALSE(kept->shared);
  CHECK(scene.own.Get(kBob, testing::RecordOf("one").key()).artifact != nullptr);
  CHECK_FALSE(scene.own.HasAny(kAlice));
  CHECK(scene.disk.size() == 0);
}

TEST_CASE("an entry that a user inserts again is counted as present") {
  Scene scene;
  REQUIRE(scene.Insert(kBob, SnapshotNamed({"one"})).ok());
  const auto again = scene.Insert(kBob, SnapshotNamed({"one", "two"}));
  REQUIRE(again.ok());
  CHECK(again->records == 1);
  CHECK(again->left_out == 1);
}

TEST_CASE("an entry that an administrator inserts is kept for all users") {
  Scene scene;
  const auto kept = scene.Insert(0, SnapshotNamed({"one", "two"}));
  REQUIRE(kept.ok());
  CHECK(kept->records == 2);
  CHECK(kept->shared);
  CHECK(scene.disk.size() == 2);
  CHECK_FALSE(scene.own.HasAny(0));
  CHECK(scene.Insert(0, SnapshotNamed({"one"}))->left_out == 1);
}

TEST_CASE("a user exports entries that it inserted and received") {
  Scene scene;
  scene.Answer(kBob, "one");
  scene.Share("one", "what all have");
  CHECK(OutputsIn(scene.Create(kBob)) == Names{"what all have"});
  const auto artifact = testing::RecordOf("bob's own").artifact;
  REQUIRE(scene.own.Put(kBob, testing::RecordOf("one").key(), artifact, 1));
  CHECK(OutputsIn(scene.Create(kBob)) == Names{"bob's own"});
}

TEST_CASE("a snapshot has its user's deposits, and they belong to the inserting user alone") {
  Scene scene;
  scene.Answer(kAlice, "one");
  scene.Share("one", "one");
  const auto bytes = std::make_shared<const std::string>("what a client made");
  REQUIRE(scene.deposits.Insert(kAlice, "n", cccl_cache::Sha256("fields"), bytes).ok());
  const std::string file = scene.Create(kAlice);
  CHECK(file == scene.Create(kAlice));
  for (const uid_t uid : {kBob, uid_t{0}}) {
    INFO(uid);
    const auto first = scene.Insert(uid, file);
    REQUIRE(first.ok());
    CHECK(first->records == (uid == kBob ? 2 : 1));  // the shared artifact is present already
    CHECK(first->records + first->left_out == 2);
    CHECK(scene.Insert(uid, file)->left_out == 2);
    const auto kept = scene.deposits.List(uid, std::nullopt, 9);
    REQUIRE(kept.size() == 1);
    CHECK(kept[0].scope == cccl_cache::DepositScope{cccl_cache::DepositScope::Kind::kUser, uid});
    CHECK(*scene.deposits.Read(kept[0].key) == "what a client made");
  }
}

TEST_CASE("a snapshot with deposits beyond the user's quota is refused whole, and evicts nothing") {
  Scene scene;
  const auto bytes = std::make_shared<const std::string>("bob's before");
  REQUIRE(scene.deposits.Insert(kBob, "n", cccl_cache::Sha256("before"), bytes).ok());
  std::vector<testing::StoredRecord> most;
  for (uint64_t i = 0; i < kDepositQuota / DepositIndex::kLeastCharge; ++i) {
    most.push_back(testing::StoredDeposit(std::to_string(i)));
  }
  std::vector<testing::StoredRecord> too_many = most;
  too_many.push_back(testing::StoredDeposit("one more"));
  const auto refused = scene.Insert(kBob, testing::SnapshotOf(too_many));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kOverloaded);
  CHECK(scene.deposits.List(kBob, std::nullopt, 99).size() == 1);
  CHECK(scene.Insert(kBob, testing::SnapshotOf(most))->records == most.size());
}

TEST_CASE("entries that users inserted never get into an administrator's snapshot") {
  Scene scene;
  scene.Answer(kBob, "one");
  scene.Answer(kBob, "two");
  scene.Share("one", "what all have");
  for (const char* name : {"one", "two"}) {
    const auto artifact = testing::RecordOf("forged").artifact;
    REQUIRE(scene.own.Put(kBob, testing::RecordOf(name).key(), artifact, 1));
  }
  CHECK(OutputsIn(scene.Create(0, {.all_users = true})) == Names{"what all have"});
  CHECK(OutputsIn(scene.Create(0, {.uids = {kBob}})) == Names{"what all have"});
}

TEST_CASE("the memory of a record is counted during export and import") {
  Scene scene;
  const std::string output(100'000, 'x');
  scene.Answer(kBob, "one");
  scene.Share("one", output);
  const std::string file = scene.Create(kBob);
  CHECK(scene.most_held > 2 * output.size());
  scene.most_held = 0;
  REQUIRE(scene.Insert(kBob, file));
  CHECK(scene.most_held > 2 * output.size());

  scene.free = output.size();
  const auto nothing = [](std::string_view) -> Status { return Ok{}; };
  const auto made = scene.snapshots.Create(scene.Caller(kBob), {}, nothing);
  REQUIRE_FALSE(made.ok());
  CHECK(made.error().code == ErrorCode::kOverloaded);
  const auto kept = scene.Insert(kBob, file);
  REQUIRE_FALSE(kept.ok());
  CHECK(kept.error().code == ErrorCode::kOverloaded);
}

TEST_CASE("the memory of a deposit is counted during export and import") {
  Scene scene;
  const auto bytes = std::make_shared<const std::string>(100'000, 'x');
  REQUIRE(scene.deposits.Insert(kBob, "n", cccl_cache::Sha256("fields"), bytes).ok());
  const std::string file = scene.Create(kBob);
  CHECK(scene.most_held > 2 * bytes->size());
  scene.most_held = 0;
  REQUIRE(scene.Insert(kAlice, file).ok());
  CHECK(scene.most_held > 2 * bytes->size());
}

TEST_CASE("an entry that is too large for a record is left out") {
  Scene scene;
  scene.Answer(kBob, "large");
  scene.Answer(kBob, "small");
  scene.Share("large", std::string(kMaxRecordBytes, 'x'));
  scene.Share("small", "small");
  CHECK(OutputsIn(scene.Create(kBob)) == Names{"small"});
}

TEST_CASE("four users are served at once, and block no administrator") {
  Scene scene;
  std::vector<std::unique_ptr<IncomingSnapshot>> sent;
  for (uid_t uid = 1; uid <= 4; ++uid) {
    auto one = scene.snapshots.Receive(scene.Caller(uid));
    REQUIRE(one.ok());
    sent.push_back(*std::move(one));
  }
  std::stop_source left;
  left.request_stop();
  SnapshotCaller fifth = scene.Caller(kBob);
  fifth.left = left.get_token();
  const auto nothing = [](std::string_view) -> Status { return Ok{}; };
  for (const Error& error : {scene.snapshots.Receive(fifth).error(),
                             scene.snapshots.Create(fifth, {}, nothing).error()}) {
    CHECK(error.code == ErrorCode::kCancelled);  // otherwise the fifth caller would wait
  }
  CHECK(scene.snapshots.Receive(scene.Caller(0)).ok());
  sent.pop_back();
  CHECK(scene.snapshots.Receive(fifth).ok());
}

TEST_CASE("the overflow uid can insert nothing") {
  Scene scene;
  const auto refused = scene.Insert(kOverflowUid, SnapshotNamed({"one"}));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kDenied);
}

using Place = std::shared_ptr<void>;

/// A user that waits for a place on its own thread.
struct Waiting {
  Waiting(Places& places, uid_t uid)
      : place(std::async(std::launch::async, [&places, uid, token = left.get_token()] {
          return places.Take(Account(uid), token);
        })) {
    // Waits until the user is queued: then a second attempt is refused.
    while (true) {
      std::stop_source at_once;
      at_once.request_stop();
      const auto again = places.Take(Account(uid), at_once.get_token());
      if (!again && again.error().code == ErrorCode::kOverloaded) break;
      std::this_thread::yield();
    }
  }

  std::stop_source left;
  std::future<Result<Place>> place;
};

Place TakeNow(Places& places, uid_t uid) {
  auto place = places.Take(Account(uid), {});
  REQUIRE(place.ok());
  return *std::move(place);
}

TEST_CASE("the allowed number of users have a place at once, and the next one waits") {
  Places places(2);
  Place one = TakeNow(places, 1);
  const Place two = TakeNow(places, 2);
  Waiting three(places, 3);
  one.reset();
  CHECK(three.place.get().ok());
}

TEST_CASE("a user has one place, and blocks no later user") {
  Places places(3);
  Place one = TakeNow(places, 1);
  Waiting again(places, 1);
  CHECK(TakeNow(places, 2) != nullptr);
  const auto third = places.Take(Account(1), {});
  REQUIRE_FALSE(third.ok());
  CHECK(third.error().code == ErrorCode::kOverloaded);
  one.reset();
  CHECK(again.place.get().ok());
}

TEST_CASE("containers have half of the places, and block no user of the host") {
  Places places(5);
  std::stop_source at_once;
  at_once.request_stop();
  std::vector<Place> taken;
  const auto finds_one = [&](uid_t uid) {
    auto place = places.Take(Account(uid), at_once.get_token());
    if (place) taken.push_back(*std::move(place));
    return place.ok();
  };
  CHECK(finds_one(kFirstContainerUser));
  CHECK(finds_one(kFirstContainerUser + 1));
  CHECK_FALSE(finds_one(kFirstContainerUser + 2));
  Waiting third(places, kFirstContainerUser + 2);
  CHECK(finds_one(1));
  CHECK(finds_one(2));
  taken.erase(taken.begin());
  CHECK(third.place.get().ok());
}

TEST_CASE("the caller that waits longest is next, before one that had a place") {
  Places places(1);
  Place first = TakeNow(places, 1);
  Waiting second(places, 2);
  Waiting again(places, 1);
  first.reset();
  auto place = second.place.get();
  REQUIRE(place.ok());
  CHECK(again.place.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  *place = nullptr;
  CHECK(again.place.get().ok());
}

TEST_CASE("a caller that leaves the queue does not block the next one") {
  Places places(1);
  Place first = TakeNow(places, 1);
  Waiting gone(places, 2);
  Waiting behind(places, 3);
  gone.left.request_stop();
  const auto cancelled = gone.place.get();
  REQUIRE_FALSE(cancelled.ok());
  CHECK(cancelled.error().code == ErrorCode::kCancelled);
  first.reset();
  CHECK(behind.place.get().ok());
}

}  // namespace
}  // namespace cccl_cache::daemon::node_snapshots_test
