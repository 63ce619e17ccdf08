// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <string>
#include <utility>

#include "daemon/core/explain/explainer.h"
#include "daemon/core/lookup/manifest.h"
#include "daemon/core/model/compiler.h"
#include "daemon/system/blocking_pool.h"
#include "tests/unit/core/coordinator_bench.h"
#include "tests/unit/core/stall.h"

namespace cccl_cache::daemon::build_coordinator_disk_test {
namespace {

using testing::Answers;
using testing::CoordinatorBench;
using testing::IncludesLocal;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::SourceAsOutput;
using testing::Stall;

constexpr std::chrono::milliseconds kShort{20};

/// A coordinator whose disk stalls after StallDisk().
struct Scene {
  explicit Scene(std::chrono::milliseconds patience = std::chrono::minutes(2),
                 testing::FakeCompiler::Behaviour behaviour = SourceAsOutput)
      : bench(std::move(behaviour), {.queued_per_uid = 16,  // all builds that a test starts at once
                                     .disk_patience = patience,
                                     .second_tier = TierName::kDisk}) {}
  ~Scene() { stall.End(); }

  void KeepOnDisk(const std::string& source) {
    bench.BuildOne(source);
    bench.memory.Clear();
  }
  void StallDisk() {
    bench.disk.during_get = [this] { stall.Enter(); };
  }
  BuildCoordinator::Ticket Ask(const std::string& source, const Peer& peer = kAlice) {
    return bench.coordinator->Start(MakeRequest(source), peer, answers.Collect());
  }

  Stall stall;
  Answers answers;
  CoordinatorBench bench;
};

TEST_CASE("a stalled disk delays neither the caller's thread nor results in memory") {
  Scene scene;
  scene.KeepOnDisk("kept");
  scene.bench.BuildOne("in memory");
  scene.StallDisk();
  scene.Ask("kept");
  REQUIRE(scene.stall.WaitUntilEntered(1));
  REQUIRE(scene.answers.size() == 0);
  scene.Ask("in memory");
  // Answered before Start() returned, so no other thread took part.
  REQUIRE(scene.answers.size() == 1);
  CHECK(scene.answers.Wait(1).at(0)->tier == TierName::kMemory);
  scene.stall.End();
  CHECK(scene.answers.Wait(2).at(1)->tier == TierName::kDisk);
}

TEST_CASE("a user with private entries of other keys gets results from memory") {
  Scene scene;
  REQUIRE(scene.bench.own.Put(kAlice.uid, cccl_cache::Sha256("another"), nullptr, 1));
  scene.bench.BuildOne("in memory");
  scene.StallDisk();
  scene.Ask("in memory");
  // Answered before Start() returned, so no other thread took part.
  REQUIRE(scene.answers.size() == 1);
  CHECK(scene.answers.Wait(1).at(0)->tier == TierName::kMemory);
}

TEST_CASE("a user's concurrent reads of a stalled disk are limited, and block no other user") {
  constexpr size_t kMax = kDiskReads.threads_per_uid;
  Scene scene;
  for (size_t i = 0; i < kMax + 3; ++i) scene.KeepOnDisk(std::to_string(i));
  scene.StallDisk();
  for (size_t i = 1; i < kMax + 3; ++i) scene.Ask(std::to_string(i));
  REQUIRE(scene.stall.WaitUntilEntered(kMax));
  scene.Ask("0", kBob);
  REQUIRE(scene.stall.WaitUntilEntered(kMax + 1));
  CHECK(scene.stall.entered() == kMax + 1);
  scene.stall.End();
  for (const auto& answer : scene.answers.Wait(kMax + 3)) CHECK(answer->tier == TierName::kDisk);
}

TEST_CASE("a caller that leaves during a disk read is not answered, and nothing is compiled") {
  Scene scene;
  scene.StallDisk();
  const auto ticket = scene.Ask("new");
  REQUIRE(scene.stall.WaitUntilEntered(1));
  scene.bench.coordinator->Leave(ticket);
  scene.stall.End();
  scene.bench.Stop();
  CHECK(scene.answers.size() == 0);
  CHECK(scene.bench.compiler.started() == 0);
}

TEST_CASE("a build whose disk read stalls is compiled, and stalled reads hold no slots") {
  Scene scene(kShort);
  scene.KeepOnDisk("kept");
  scene.StallDisk();
  scene.Ask("kept");
  for (size_t i = 0; i < kDiskReads.threads_per_uid; ++i) scene.Ask(std::to_string(i));
  const auto answers = scene.answers.Wait(1 + kDiskReads.threads_per_uid);
  REQUIRE(answers.size() == 1 + kDiskReads.threads_per_uid);
  for (const auto& answer : answers) {
    INFO((answer.ok() ? "" : answer.error().message));
    REQUIRE(answer.ok());
    CHECK(answer->outcome == Outcome::kBuilt);
  }
  CHECK(scene.stall.entered() <= kDiskReads.threads_per_uid);
  // The artifact is in memory now.
  CHECK(scene.bench.BuildOne("kept").outcome == Outcome::kHit);
  scene.stall.End();
}

TEST_CASE("Explain calls that wait for a stalled disk delay no build of the same user") {
  Scene scene(kShort);
  scene.KeepOnDisk("kept");
  const cccl_cache::Digest key = scene.bench.BuildOne("another").key;
  scene.bench.memory.Clear();
  scene.StallDisk();
  std::promise<void> all;
  std::atomic<size_t> errors = 0;
  const auto refused = [&](const Result<Explanation>& explanation) {
    CHECK_FALSE(explanation.ok());
    if (++errors == 2 * kDiskReads.threads_per_uid) all.set_value();
  };
  BuildCoordinator& coordinator = *scene.bench.coordinator;
  for (size_t i = 0; i < kDiskReads.threads_per_uid; ++i) {
    coordinator.ExplainKey(key, kAlice, refused);
    coordinator.Explain(MakeRequest("kept"), kAlice, refused);
  }
  scene.Ask("new");
  const auto answers = scene.answers.Wait(1);
  REQUIRE(answers.size() == 1);
  REQUIRE(answers[0].ok());
  CHECK(answers[0]->outcome == Outcome::kBuilt);
  REQUIRE(all.get_future().wait_for(testing::kPatience) == std::future_status::ready);
  scene.stall.End();
  scene.bench.Stop();
}

TEST_CASE("during a stall a manifest is kept in memory, and not overwritten on the disk") {
  const std::string local = "/home/someone/local.h";
  CoordinatorBench before(IncludesLocal);
  before.files.disk->Write(local, "one");
  const BuildAnswer kept = before.BuildOne("a");
  Scene scene(kShort, IncludesLocal);
  for (const auto& key : {kept.key, ManifestKey(kept.fingerprint)}) {
    scene.bench.disk.Put(key, before.disk.Get(key));
  }
  scene.StallDisk();
  scene.bench.files.disk->Write(local, "two");
  CHECK(scene.bench.BuildOne("a").outcome == Outcome::kBuilt);
  const BuildAnswer again = scene.bench.BuildOne("a");
  CHECK(again.outcome == Outcome::kHit);
  CHECK(again.artifact->parts[0].bytes == "from two");
  scene.stall.End();
  scene.bench.Stop();
  CHECK(scene.bench.disk.Get(ManifestKey(kept.fingerprint))->log ==
        before.disk.Get(ManifestKey(kept.fingerprint))->log);
}

TEST_CASE("a build with a closure is compiled again if its artifact is on a stalled disk") {
  Scene scene(kShort, IncludesLocal);
  scene.bench.files.disk->Write("/home/someone/local.h", "one");
  const BuildAnswer built = scene.bench.BuildOne("a");
  scene.bench.memory.Remove(built.key);
  scene.StallDisk();
  const BuildAnswer again = scene.bench.BuildOne("a");
  CHECK(again.outcome == Outcome::kBuilt);
  CHECK(again.key == built.key);
  scene.stall.End();
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_disk_test
