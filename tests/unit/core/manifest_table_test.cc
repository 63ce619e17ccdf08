// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/manifest_table.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "tests/unit/core/fake_private_entries.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::manifest_table_test {
namespace {

using cccl_cache::Digest;
using cccl_cache::Sha256;
using testing::MapTier;

const Digest kFingerprint = Sha256("fingerprint");
constexpr std::chrono::milliseconds kTime(5);

KnownClosure OneFile(const std::string& text) {
  KnownClosure known;
  known.closure.entries.push_back({{1, "x.h"}, FileKind::kFile, Sha256(text), 0});
  return known;
}

std::vector<KnownClosure> Closures(const std::string& text) { return {OneFile(text)}; }

TEST_CASE("a manifest that is found in a lower tier is copied to the upper tier") {
  MapTier memory(TierName::kMemory);
  MapTier disk(TierName::kDisk);
  ManifestTable table({&memory, &disk});
  CHECK(*table.Find(kFingerprint) == Manifest{});
  table.Add(kFingerprint, OneFile("a"), kTime);
  memory.Clear();
  const auto found = table.Find(kFingerprint);
  REQUIRE(found->closures.size() == 1);
  CHECK(found->closures[0].closure == OneFile("a").closure);
  CHECK(found->closures[0].key == KeyOf(kFingerprint, OneFile("a").closure));
  CHECK(memory.size() == 1);
}

TEST_CASE("a manifest is decoded once, and again when it has changed") {
  MapTier memory(TierName::kMemory);
  ManifestTable table({&memory});
  table.Add(kFingerprint, OneFile("a"), kTime);
  const auto found = table.Find(kFingerprint);
  CHECK(table.Find(kFingerprint) == found);
  table.Add(kFingerprint, OneFile("b"), kTime);
  CHECK(table.Find(kFingerprint)->closures.size() == 2);
  memory.Clear();
  CHECK(table.Find(kFingerprint)->closures.empty());
}

TEST_CASE("none of many concurrent additions is lost") {
  MapTier memory(TierName::kMemory);
  ManifestTable table({&memory});
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < Manifest::kMaxClosures; ++i) {
    threads.emplace_back([&, i] {
      KnownClosure known = OneFile(std::to_string(i));
      known.owner = static_cast<uid_t>(i);
      table.Add(kFingerprint, known, kTime);
    });
  }
  threads.clear();
  CHECK(table.Find(kFingerprint)->closures.size() == Manifest::kMaxClosures);
}

TEST_CASE("an addition in preparation blocks no other addition, and loses none") {
  MapTier memory(TierName::kMemory);
  ManifestTable table({&memory});
  Digest same_lock = kFingerprint;
  same_lock.bytes[1] ^= 1;
  bool others_go_on = false;
  std::future<void> others;
  memory.during_get = [&, first = std::make_shared<std::atomic_flag>()] {
    if (first->test_and_set()) return;
    others = std::async(std::launch::async, [&] {
      table.AddInMemory(same_lock, Closures("a"), kTime, nullptr);
      table.AddInMemory(kFingerprint, Closures("b"), kTime, nullptr);
    });
    others_go_on = others.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  };
  table.AddInMemory(kFingerprint, Closures("c"), kTime, nullptr);
  CHECK(others_go_on);
  CHECK(table.Find(kFingerprint)->closures.size() == 2);
}

TEST_CASE("Merge adds another node's closures, without their owners") {
  MapTier memory(TierName::kMemory);
  MapTier elsewhere(TierName::kMemory);
  ManifestTable ours({&memory});
  ManifestTable theirs({&elsewhere});
  KnownClosure owned = OneFile("theirs");
  owned.owner = 1000;
  theirs.Add(kFingerprint, owned, kTime);
  theirs.Add(kFingerprint, OneFile("both"), kTime);
  ours.Add(kFingerprint, OneFile("both"), kTime);
  ours.Add(kFingerprint, OneFile("ours"), kTime);
  const auto sent = theirs.ForOtherNodes(kFingerprint);
  REQUIRE(sent != nullptr);
  CHECK(ours.Merge(kFingerprint, *sent, nullptr));
  const auto merged = ours.Find(kFingerprint);
  REQUIRE(merged->closures.size() == 3);
  for (const KnownClosure& known : merged->closures) CHECK(known.owner == std::nullopt);
  CHECK_FALSE(ours.Merge(kFingerprint, *sent, nullptr));
}

TEST_CASE("a second Merge of the same manifest adds nothing, and this node's closure is kept") {
  MapTier memory(TierName::kMemory);
  MapTier elsewhere(TierName::kMemory);
  ManifestTable ours({&memory});
  ManifestTable theirs({&elsewhere});
  for (int i = 0; i < 20; ++i) theirs.Add(kFingerprint, OneFile(std::to_string(i)), kTime);
  KnownClosure owned = OneFile("ours");
  owned.owner = 1000;
  ours.Add(kFingerprint, owned, kTime);
  const auto sent = theirs.ForOtherNodes(kFingerprint);
  CHECK(ours.Merge(kFingerprint, *sent, nullptr));
  CHECK_FALSE(ours.Merge(kFingerprint, *sent, nullptr));
  const auto merged = ours.Find(kFingerprint);
  REQUIRE(merged->closures.size() == 21);
  CHECK(merged->closures.back().owner == uid_t{1000});
}

TEST_CASE("a container user owns a closure only during this run") {
  MapTier memory(TierName::kMemory);
  MapTier disk(TierName::kDisk);
  constexpr uid_t kContained = kFirstContainerUser + 1;
  KnownClosure owned = OneFile("a");
  owned.owner = kContained;
  ManifestTable table({&memory, &disk});
  table.Add(kFingerprint, owned, kTime);
  table.Add(kFingerprint, OneFile("b"), kTime);
  memory.Clear();
  CHECK(table.Find(kFingerprint)->closures.back().owner == kContained);
  ManifestTable next_run({&memory, &disk});
  CHECK(next_run.Find(kFingerprint)->closures.back().owner == std::nullopt);
}

TEST_CASE("an entry that is not a manifest counts as missing") {
  MapTier memory(TierName::kMemory);
  memory.Put(ManifestKey(kFingerprint), testing::MakeArtifact("x", "not a manifest"));
  ManifestTable table({&memory});
  CHECK(*table.Find(kFingerprint) == Manifest{});
}

TEST_CASE("a manifest has the compile time of its most expensive artifact") {
  MapTier memory(TierName::kMemory);
  ManifestTable table({&memory});
  const auto worth = [&] { return memory.Get(ManifestKey(kFingerprint))->compile_time; };
  table.Add(kFingerprint, OneFile("a"), std::chrono::milliseconds(3));
  CHECK(worth() == std::chrono::milliseconds(3));
  table.Add(kFingerprint, OneFile("b"), std::chrono::milliseconds(9));
  table.Add(kFingerprint, OneFile("c"), std::chrono::milliseconds(2));
  CHECK(worth() == std::chrono::milliseconds(9));
}

TEST_CASE("a wait for a user's own manifest delays no other user") {
  MapTier memory(TierName::kMemory);
  testing::FakePrivateEntries own;
  ManifestTable table({&memory}, &own);
  bool others_go_on = false;
  std::future<void> other;
  own.on_put = [&] {
    other = std::async(std::launch::async, [&] { table.Add(kFingerprint, OneFile("a"), kTime); });
    others_go_on = other.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  };
  REQUIRE(table.AddFor(7, Sha256("another"), OneFile("b"), kTime, 1));
  CHECK(others_go_on);
}

}  // namespace
}  // namespace cccl_cache::daemon::manifest_table_test
