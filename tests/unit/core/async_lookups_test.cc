// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/async_lookups.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "tests/unit/core/answering_caller.h"
#include "tests/unit/core/stall.h"
#include "tests/unit/core/waiters.h"

namespace cccl_cache::daemon::async_lookups_test {
namespace {

using Catch::Matchers::Contains;
using std::chrono::milliseconds;
using testing::kPatience;
using testing::Stall;

const Peer kAlice{1000, 1000, {}, 1};
const Peer kBob{1001, 1001, {}, 2};

/// Look-ups, and the answers to their waiters.
class Scene {
 public:
  explicit Scene(const AsyncLookups::Timeouts& patience = {std::chrono::minutes(10),
                                                           std::chrono::minutes(10)})
      : looks(table, responder, patience) {}

  BuildPtr Waits(const Peer& peer = kAlice) {
    return testing::MakeWaiter(table, testing::MakeRequest("a"), peer, answers.Collect());
  }
  /// Returns a callback that answers the build with a failure whose log is `how`.
  AsyncLookups::Then Then(const std::string& how) {
    return [this, how](BuildPtr waiter) {
      waiter->findings.failure =
          std::make_shared<const KnownFailure>(KnownFailure{testing::Fail(how), {}});
      responder.AnswerFailure(std::move(waiter));
    };
  }
  /// Returns the answer to the only build: its log, or the error's name.
  std::string Told() {
    const auto all = answers.Wait(1);
    if (all.size() != 1) return std::to_string(all.size()) + " answers";
    return all[0].ok() ? all[0]->log : std::string(Name(all[0].error().code));
  }

  FlightTable table;
  Statistics statistics;
  BuildHistory history{1 << 20};
  Responder responder{{table, statistics, history, nullptr, {}}};
  testing::Answers answers;
  AsyncLookups looks;
};

TEST_CASE("a build's files are read on another thread, and then the build continues") {
  Stall stall;
  Scene scene;
  std::atomic<bool> looked = false;
  const auto here = std::this_thread::get_id();
  scene.looks.AtFiles(
      scene.Waits(),
      [&] {
        stall.Enter();
        looked = std::this_thread::get_id() != here;
      },
      [&](BuildPtr waiter) { scene.Then(looked ? "looked" : "on")(std::move(waiter)); });
  REQUIRE(stall.WaitUntilEntered(1));
  CHECK(scene.answers.size() == 0);
  stall.End();
  CHECK(scene.Told() == "looked");
}

TEST_CASE("no callback follows a look-up if the caller has left") {
  Stall stall;
  Scene scene;
  std::atomic<int> followed = 0;
  BuildPtr waiter = scene.Waits();
  const auto ticket = waiter->ticket;
  scene.looks.AtDisk(
      std::move(waiter), [&] { stall.Enter(); }, [&](BuildPtr) { ++followed; },
      [&](BuildPtr) { ++followed; });
  REQUIRE(stall.WaitUntilEntered(1));
  scene.table.Leave(ticket);
  stall.End();
  scene.looks.Close();
  CHECK(followed == 0);
  CHECK(scene.answers.size() == 0);
  CHECK(scene.table.WaitUntilIdle(milliseconds(0)));
}

TEST_CASE("a build whose files hang gets an error that names the file system") {
  Scene scene({milliseconds(1), std::chrono::minutes(10)});
  // A hung look may outlive the test's other objects.
  const auto hang = std::make_shared<Stall>();
  scene.looks.AtFiles(
      scene.Waits(), [hang] { hang->Enter(); }, scene.Then("looked"));
  const auto all = scene.answers.Wait(1);
  REQUIRE(all.size() == 1);
  REQUIRE_FALSE(all[0].ok());
  CHECK(all[0].error().code == ErrorCode::kTimedOut);
  CHECK_THAT(all[0].error().message, Contains("does a file system hang"));
  hang->End();
}

TEST_CASE("a hung file system and a hung sender of files do not delay each other") {
  const auto disk = std::make_shared<Stall>();
  const auto caller = std::make_shared<Stall>();
  Scene scene;
  testing::AnsweringCaller sender;
  const auto sends = [&] {
    BuildPtr waiter = scene.Waits();
    waiter->files = sender.exchange;
    return waiter;
  };
  const bool disk_hangs = GENERATE(true, false);
  const auto hangs = disk_hangs ? disk : caller;
  for (int i = 0; i < 20; ++i) {
    scene.looks.AtFiles(
        disk_hangs ? scene.Waits() : sends(), [hangs] { hangs->Enter(); }, scene.Then("late"));
  }
  REQUIRE(hangs->WaitUntilEntered(2));
  scene.looks.AtFiles(
      disk_hangs ? sends() : scene.Waits(), [] {}, scene.Then("looked"));
  CHECK(scene.Told() == "looked");
  scene.looks.Close();
  hangs->End();
}

TEST_CASE("a build continues with the artifact read from the disk") {
  Scene scene;
  scene.looks.AtDisk(
      scene.Waits(), [] {}, scene.Then("read"), scene.Then("without"));
  CHECK(scene.Told() == "read");
}

TEST_CASE("a disk that does not answer in time is skipped") {
  Stall stall;
  Scene scene({std::chrono::minutes(10), milliseconds(1)});
  scene.looks.AtDisk(
      scene.Waits(), [&] { stall.Enter(); }, scene.Then("read"), scene.Then("without"));
  CHECK(scene.Told() == "without");
  stall.End();
  scene.looks.Close();
  CHECK(scene.answers.size() == 1);
}

TEST_CASE("while a user's disk reads hang, only that user's further reads are skipped at once") {
  Stall stall;
  Scene scene({std::chrono::minutes(10), milliseconds(1)});
  constexpr size_t kReads = 4;  // the maximum of one user at a time
  for (size_t i = 0; i < kReads; ++i) {
    scene.looks.AtDisk(
        scene.Waits(), [&] { stall.Enter(); }, scene.Then("read"), scene.Then("without"));
  }
  REQUIRE(scene.answers.Wait(kReads).size() == kReads);
  bool read = false;
  scene.looks.AtDisk(
      scene.Waits(), [&] { read = true; }, scene.Then("read"), scene.Then("without"));
  const auto all = scene.answers.Wait(kReads + 1);
  CHECK(all.back()->log == "without");
  scene.looks.AtDisk(
      scene.Waits(kBob), [] {}, scene.Then("read"), scene.Then("without"));
  CHECK(scene.answers.Wait(kReads + 2).back()->log == "read");
  stall.End();
  scene.looks.Close();
  CHECK_FALSE(read);
}

TEST_CASE("after Close neither files nor the disk are read") {
  Scene scene;
  scene.looks.Close();
  SECTION("files") {
    scene.looks.AtFiles(
        scene.Waits(), [] {}, scene.Then("looked"));
    CHECK(scene.Told() == "unavailable");
    CHECK(scene.statistics.Get(Counter::kRefused) == 1);
  }
  SECTION("disk") {
    scene.looks.AtDisk(
        scene.Waits(), [] {}, scene.Then("read"), scene.Then("without"));
    CHECK(scene.Told() == "without");
  }
}

TEST_CASE("Close waits for reads of the daemon's disk, but not for hung files") {
  Stall disk;
  const auto files = std::make_shared<Stall>();
  Scene scene;
  std::atomic<bool> ended = false;
  scene.looks.AtFiles(
      scene.Waits(), [files] { files->Enter(); }, scene.Then("looked"));
  scene.looks.AtDisk(
      scene.Waits(),
      [&] {
        disk.Enter();
        ended = true;
      },
      scene.Then("read"), scene.Then("without"));
  REQUIRE(files->WaitUntilEntered(1));
  REQUIRE(disk.WaitUntilEntered(1));
  std::atomic<bool> ended_before = false;
  std::thread closing([&] {
    scene.looks.Close();
    ended_before = ended.load();
  });
  // Add fails once Close has begun.
  while (scene.looks.disk().Add(kBob.account(), {[] {}, [] {}, [] {}}).ok())
    std::this_thread::yield();
  disk.End();
  closing.join();
  CHECK(ended_before);
  CHECK(scene.answers.size() == 0);  // parked builds stay parked
  CHECK(scene.table.TakeAll().size() == 2);
  files->End();
}

}  // namespace
}  // namespace cccl_cache::daemon::async_lookups_test
