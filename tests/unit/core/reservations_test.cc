// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Reservations of memory in FairQueue.
#include <catch2/catch.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/coordinator/fair_queue.h"
#include "tests/support/wait_until.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::reservations_test {
namespace {

using testing::kPatience;
using Kind = CompileMemory::Kind;

/// Three quarters of the limit are 750 units. Of an unknown tool, as many runs start as have the
/// memory of eight first runs.
constexpr uint64_t kUnit = CompileMemory::kUnknownBytes / 90;
constexpr uint64_t kLimit = 1000;
constexpr Account kAnn(1001);
constexpr Account kBob(1002);

Kind KindOf(Account account, uint64_t size) {
  return CompileMemory::KindOf(account, std::to_string(size), "tool");
}

/// A run that waits for its memory, or has it. The destructor ends it.
class Run {
 public:
  Run(FairQueue& queue, const Kind& kind) : queue_(queue) {
    const auto item = queue.Reserve(kind, [answer = answer_](auto held) {
      const std::lock_guard lock(answer->mutex);
      answer->came = true;
      answer->held = std::move(held);
      answer->changed.notify_all();
    });
    REQUIRE(item.ok());
    item_ = *item;
  }
  ~Run() { End(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void End() {
    queue_.Remove(item_);
    std::unique_ptr<Reservation> held;
    const std::lock_guard lock(answer_->mutex);
    held = std::move(answer_->held);
  }
  [[nodiscard]] bool Answered() const {
    std::unique_lock lock(answer_->mutex);
    return answer_->changed.wait_for(lock, kPatience, [this] { return answer_->came; });
  }
  [[nodiscard]] bool Starts() const { return Answered() && answer_->held != nullptr; }

 private:
  struct Answer {
    std::mutex mutex;
    std::condition_variable changed;
    bool came = false;
    std::unique_ptr<Reservation> held;
  };

  FairQueue& queue_;
  const std::shared_ptr<Answer> answer_ = std::make_shared<Answer>();
  uint64_t item_ = 0;
};
using RunPtr = std::unique_ptr<Run>;

class Scene {
 public:
  explicit Scene(CompileMemory::Limits limits = {kLimit * kUnit, kLimit* kUnit},
                 const FairQueue::Bounds& bounds = {.slots = 1})
      : memory(limits, statistics, [this] { queue.MemoryFreed(); }),
        queue(
            bounds, [this](uint64_t item, const auto&) { Compile(item); }, &memory) {
    for (const Account& account : {kAnn, kBob}) {
      for (const uint64_t size : {100, 300, 400, 600, 5000}) Learn(account, size);
    }
  }
  void Learn(Account account, uint64_t size) {
    queue.NotePeak(KindOf(account, size), size * kUnit);
  }
  RunPtr Wants(uint64_t size, Account account = kAnn) {
    return std::make_unique<Run>(queue, KindOf(account, size));
  }
  RunPtr Runs(uint64_t size, Account account = kAnn) {
    auto run = Wants(size, account);
    REQUIRE(run->Starts());
    return run;
  }
  RunPtr Waits(uint64_t size, Account account = kAnn) {
    const size_t before = memory.activity().waiting;
    auto run = Wants(size, account);
    REQUIRE(WaitUntil([&] { return memory.activity().waiting == before + 1; }));
    return run;
  }
  /// Lets the compile end that runs in the slot.
  void EndCompile() {
    const std::lock_guard lock(mutex_);
    may_end_ = true;
    changed_.notify_all();
  }
  bool WaitUntilCompiles() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [this] { return compiles_; });
  }
  [[nodiscard]] uint64_t expected() const { return memory.activity().expected_bytes / kUnit; }

 private:
  void Compile(uint64_t /*item*/) {
    std::unique_lock lock(mutex_);
    compiles_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return may_end_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool compiles_ = false;
  bool may_end_ = false;

 public:
  Statistics statistics;
  CompileMemory memory;
  FairQueue queue;
};

TEST_CASE("runs start as far as their memory fits, without a slot for each") {
  Scene scene;
  const auto first = scene.Runs(300);
  const auto second = scene.Runs(300);
  const auto third = scene.Waits(300);
  CHECK(scene.expected() == 600);
  first->End();
  CHECK(third->Starts());
  CHECK(scene.expected() == 600);
}

TEST_CASE("a run that needs more memory than there is runs alone") {
  Scene scene;
  const auto small = scene.Runs(100);
  const auto large = scene.Waits(5000);
  small->End();
  CHECK(large->Starts());
  const auto other = scene.Waits(300);
  large->End();
  CHECK(other->Starts());
}

TEST_CASE("a run that leaves while it waits takes no memory later") {
  Scene scene;
  const auto first = scene.Runs(600);
  auto second = scene.Waits(600);
  second = nullptr;
  CHECK(scene.memory.activity().waiting == 0);
  first->End();
  CHECK(scene.expected() == 0);
}

TEST_CASE("the memory of a run and that of a compile are one") {
  Scene scene;
  const auto run = scene.Runs(600);
  const Kind compile = KindOf(kAnn, 600);
  REQUIRE(scene.queue.Add(1, kAnn, BuildPriority::kNormal, compile).ok());
  REQUIRE(WaitUntil([&] { return scene.memory.activity().waiting == 1; }));
  run->End();
  REQUIRE(scene.WaitUntilCompiles());
  const auto next = scene.Waits(600);
  scene.EndCompile();
  CHECK(next->Starts());
}

TEST_CASE("a run starts while a compile holds the only slot") {
  Scene scene;
  REQUIRE(scene.queue.Add(1, kAnn, BuildPriority::kNormal, KindOf(kAnn, 100)).ok());
  REQUIRE(scene.WaitUntilCompiles());
  const auto run = scene.Runs(300);
  scene.EndCompile();
}

TEST_CASE("of two users, the one without a run is next") {
  Scene scene;
  const auto first = scene.Runs(600);
  const auto second = scene.Waits(600);
  const auto third = scene.Waits(600);
  const auto of_bob = scene.Waits(600, kBob);
  first->End();
  CHECK(of_bob->Starts());
  CHECK(scene.memory.activity().waiting == 2);
  of_bob->End();
  CHECK(second->Starts());
}

TEST_CASE("a run of another user that needs little starts beside one that needs everything") {
  Scene scene;
  const auto large = scene.Runs(5000);
  const auto of_bob = scene.Runs(100, kBob);
}

TEST_CASE("a user's reports change no other user's estimates") {
  Scene scene;
  for (int i = 0; i < 10; ++i) scene.queue.NotePeak(KindOf(kAnn, 300), 5000 * kUnit);
  CHECK(scene.memory.Expected(KindOf(kBob, 300)) == 300 * kUnit);
  CHECK(scene.memory.Expected(KindOf(kAnn, 300)) == 5000 * kUnit);
}

TEST_CASE("of a tool that has not run yet, at most eight runs start at once") {
  Scene scene;
  const auto unknown = [&](int number) {
    return std::make_unique<Run>(
        scene.queue, CompileMemory::KindOf(kAnn, std::to_string(number), "unknown tool"));
  };
  std::vector<RunPtr> runs;
  for (int i = 0; i < 8; ++i) {
    runs.push_back(unknown(i));
    REQUIRE(runs.back()->Starts());
  }
  const auto ninth = unknown(8);
  REQUIRE(WaitUntil([&] { return scene.memory.activity().waiting == 1; }));
  scene.queue.NotePeak(CompileMemory::KindOf(kAnn, "0", "unknown tool"), kUnit);
  runs.front()->End();
  CHECK(ninth->Starts());
  CHECK(unknown(9)->Starts());
}

TEST_CASE("a service's own limit bounds its compiles alone") {
  Scene scene({kLimit * kUnit / 2, kLimit * kUnit});
  const auto first = scene.Runs(300);
  const auto second = scene.Runs(400);
  CHECK(scene.expected() == 700);
  CHECK(scene.memory.activity().limit_bytes == kLimit * kUnit);
}

TEST_CASE("without a limit all runs start at once") {
  Scene scene({0, 0});
  std::vector<RunPtr> runs;
  for (int i = 0; i < 20; ++i) runs.push_back(scene.Runs(5000));
}

TEST_CASE("a run that is held for too long makes room for another user's, and only for that") {
  Scene scene({kLimit * kUnit, kLimit * kUnit},
              {.slots = 1, .reserved_for = std::chrono::milliseconds(1)});
  const auto held = scene.Runs(600);
  const auto own = scene.Waits(600);
  CHECK(scene.expected() == 600);
  const auto of_bob = scene.Wants(600, kBob);
  CHECK(of_bob->Starts());
}

TEST_CASE("all waiting runs are answered without memory when the queue stops") {
  Scene scene;
  const auto first = scene.Runs(600);
  const auto second = scene.Waits(600);
  scene.queue.StopReserving();
  CHECK(second->Answered());
  CHECK_FALSE(second->Starts());
  CHECK(scene.queue.Reserve(KindOf(kAnn, 100), [](auto) {}).error().code ==
        ErrorCode::kUnavailable);
}

TEST_CASE("a user's runs that wait are bounded by the limits of the queue") {
  Scene scene({kLimit * kUnit, kLimit * kUnit}, {.slots = 1, .per_uid = 1});
  const auto first = scene.Runs(600);
  const auto second = scene.Waits(600);
  CHECK(scene.queue.Reserve(KindOf(kAnn, 100), [](auto) {}).error().code == ErrorCode::kOverloaded);
}

}  // namespace
}  // namespace cccl_cache::daemon::reservations_test
