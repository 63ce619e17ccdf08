// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "daemon/core/disk_reads.h"
#include "tests/unit/core/coordinator_bench.h"
#include "tests/unit/core/stall.h"

namespace cccl_cached {
namespace {

using testing::Answers;
using testing::CoordinatorBench;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::SourceAsOutput;
using testing::Stall;

/// A coordinator whose disk stalls from some moment on.
struct Scene {
  explicit Scene(std::chrono::milliseconds patience = std::chrono::minutes(2))
      : bench(SourceAsOutput, {.time = patience, .second_tier = TierName::kDisk}) {}
  ~Scene() { stall.End(); }

  void KeepOnDisk(const std::string& source) {
    bench.BuildOne(source);
    bench.memory.Clear();
  }
  void StallDisk() {
    bench.disk.during_get = [this] { stall.Enter(); };
  }
  BuildCoordinator::Ticket Ask(const std::string& source, const Peer& peer = kAlice) {
    return bench.coordinator->Build(MakeRequest(source), peer, answers.Collect());
  }

  Stall stall;
  Answers answers;
  CoordinatorBench bench;
};

TEST_CASE("a disk that stalls holds up no thread of who asks, and nothing that is in memory") {
  Scene scene;
  scene.KeepOnDisk("kept");
  scene.bench.BuildOne("in memory");
  scene.StallDisk();
  scene.Ask("kept");
  REQUIRE(scene.stall.WaitUntilEntered(1));
  REQUIRE(scene.answers.size() == 0);
  scene.Ask("in memory");
  // Before Build returned: no other thread had a part in it.
  REQUIRE(scene.answers.size() == 1);
  CHECK(scene.answers.Wait(1).at(0)->tier == TierName::kMemory);
  scene.stall.End();
  CHECK(scene.answers.Wait(2).at(1)->tier == TierName::kDisk);
}

TEST_CASE("one user's reads of a disk that stalls are few, and keep nobody else from reading") {
  constexpr size_t kMost = kDiskReads.threads_per_uid;
  Scene scene;
  for (size_t i = 0; i < kMost + 3; ++i) scene.KeepOnDisk(std::to_string(i));
  scene.StallDisk();
  for (size_t i = 1; i < kMost + 3; ++i) scene.Ask(std::to_string(i));
  REQUIRE(scene.stall.WaitUntilEntered(kMost));
  scene.Ask("0", kBob);
  REQUIRE(scene.stall.WaitUntilEntered(kMost + 1));
  CHECK(scene.stall.entered() == kMost + 1);
  scene.stall.End();
  for (const auto& answer : scene.answers.Wait(kMost + 3)) CHECK(answer->tier == TierName::kDisk);
}

TEST_CASE("who leaves while the disk is read for it is not answered, and nothing is compiled") {
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

TEST_CASE("who waits too long behind others' reads is told that the disk hangs") {
  Scene scene(std::chrono::milliseconds(50));
  scene.StallDisk();
  for (size_t i = 0; i <= kDiskReads.threads_per_uid; ++i) scene.Ask(std::to_string(i));
  const auto told = scene.answers.Wait(1).at(0);
  REQUIRE_FALSE(told.ok());
  CHECK(told.error().code == ErrorCode::kTimedOut);
  CHECK(told.error().message.find("disk") != std::string::npos);
}

}  // namespace
}  // namespace cccl_cached
