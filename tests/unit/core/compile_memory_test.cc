// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/compile_memory.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/core/coordinator/fair_queue.h"
#include "tests/support/wait_until.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::compile_memory_test {
namespace {

using testing::kPatience;
using testing::MakeToolchain;
using Kind = CompileMemory::Kind;

/// The unit of all sizes below, unless stated otherwise. Unknown kinds are expected to need 128.
constexpr uint64_t kUnit = CompileMemory::kUnknownBytes / 128;
constexpr uint64_t kLimit = 1000;
constexpr Account kAnn(1001);
constexpr Account kBob(1002);
constexpr Account kCarl(1003);

Kind KindNamed(const std::string& name, Account account = kAnn) {
  return {account, cccl_cache::Sha256(account.Label() + " " + name),
          cccl_cache::Sha256(account.Label())};
}

class Scene;

struct Compile {
  Compile(Scene& its_scene, uint64_t its_number) : scene(its_scene), number(its_number) {}
  ~Compile() { End(); }
  void End();
  [[nodiscard]] bool WaitUntilStarted() const;

  Scene& scene;
  const uint64_t number;
  std::jthread idle;  ///< the thread of an idle compile; none for an item of the queue
};
using CompilePtr = std::unique_ptr<Compile>;

/// The queue has more slots than most tests need.
class Scene {
 public:
  explicit Scene(const FairQueue::Bounds& bounds = {.slots = 32})
      : queue(
            bounds, [this](uint64_t item, const auto&) { Run(item); }, &memory,
            [this] { ++asked_for_room; }) {}
  /// Records that a compile of this kind has just ended and needed this much.
  void Learn(const Kind& kind, uint64_t bytes, bool ended = true) {
    const auto running = memory.TryStart(kind);
    running->peak_bytes = bytes;
    running->ended = ended;
  }
  CompilePtr Start(uint64_t size, Account account,
                   BuildPriority priority = BuildPriority::kNormal) {
    auto compile = std::make_unique<Compile>(*this, ++compiles_);
    Wants(*compile, size, account, priority);
    return compile;
  }
  void Wants(const Compile& compile, uint64_t size, Account account,
             BuildPriority priority = BuildPriority::kNormal) {
    CHECK(queue.Add(compile.number, account, priority, KindOf(size, account)).ok());
  }
  CompilePtr StartIdle(uint64_t size, Account account) {
    auto compile = std::make_unique<Compile>(*this, ++compiles_);
    compile->idle =
        std::jthread([this, size, account, number = compile->number](const std::stop_token& stop) {
          if (const auto running = memory.StartIdle(KindOf(size, account), stop)) Run(number);
        });
    return compile;
  }
  CompilePtr Runs(uint64_t size, Account account = kAnn) { return Started(Start(size, account)); }
  CompilePtr RunsIdle(uint64_t size, Account account = kAnn) {
    return Started(StartIdle(size, account));
  }
  CompilePtr Waits(uint64_t size, Account account = kAnn,
                   BuildPriority priority = BuildPriority::kNormal) {
    const size_t before = memory.activity().waiting;
    auto compile = Start(size, account, priority);
    REQUIRE(WaitUntil([&] { return memory.activity().waiting == before + 1; }));
    return compile;
  }
  CompilePtr WaitsIdle(uint64_t size, Account account = kAnn) {
    const size_t before = memory.activity().waiting;
    auto compile = StartIdle(size, account);
    REQUIRE(WaitUntil([&] { return memory.activity().waiting == before + 1; }));
    return compile;
  }
  /// Records kinds with these sizes for all accounts. To be called while nothing runs.
  void Know(const std::vector<uint64_t>& sizes) {
    for (const Account& account : {kAnn, kBob, kCarl, Account(0)}) {
      for (const uint64_t size : sizes) Learn(KindOf(size, account), size * kUnit);
    }
  }
  static Kind KindOf(uint64_t size, Account account) {
    return KindNamed(std::to_string(size), account);
  }
  void End(uint64_t number) {
    std::unique_lock lock(mutex_);
    ended_.insert(number);
    changed_.notify_all();
    lock.unlock();
    if (!queue.Remove(number)) CHECK(WaitUntilRunning(number, false));
  }
  bool WaitUntilRunning(uint64_t number, bool running = true) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return running_.contains(number) == running; });
  }
  [[nodiscard]] uint64_t expected() const { return memory.activity().expected_bytes / kUnit; }

  Statistics statistics;
  std::atomic<size_t> asked_for_room{0};
  CompileMemory memory{kLimit * kUnit, statistics, [this] { queue.MemoryFreed(); }};

 private:
  static CompilePtr Started(CompilePtr compile) {
    REQUIRE(compile->WaitUntilStarted());
    return compile;
  }
  void Run(uint64_t number) {
    std::unique_lock lock(mutex_);
    running_.insert(number);
    changed_.notify_all();
    changed_.wait(lock, [&] { return ended_.contains(number); });
    running_.erase(number);
    changed_.notify_all();
  }

  uint64_t compiles_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<uint64_t> running_;  // guarded by mutex_, as is ended_
  std::set<uint64_t> ended_;

 public:
  FairQueue queue;
};

void Compile::End() {
  scene.End(number);
  idle = {};
}

bool Compile::WaitUntilStarted() const { return scene.WaitUntilRunning(number); }

TEST_CASE("compiles that do not fit together run one after the other") {
  Scene scene;
  scene.Know({600});
  const auto first = scene.Runs(600);
  const auto second = scene.Waits(600);
  CHECK(scene.expected() == 600);
  CHECK(scene.memory.activity().limit_bytes == kLimit * kUnit);
  CHECK(scene.statistics.Get(Counter::kMemoryWaits) == 1);
  first->End();
  CHECK(second->WaitUntilStarted());
  CHECK(scene.expected() == 600);
}

TEST_CASE("a compile that needs more than the limit runs, and leaves a quarter to other users") {
  Scene scene;
  scene.Know({100, 5000});
  const auto large = scene.Runs(5000);
  const auto larger = scene.Waits(5000);
  const auto of_bob = scene.Runs(100, kBob);
  large->End();
  CHECK(larger->WaitUntilStarted());
}

TEST_CASE("a large compile does not delay another user's compile of unknown kind") {
  Scene scene;
  scene.Know({5000});
  const auto large = scene.Runs(5000);
  const auto of_bob = scene.Runs(1, kBob);
  const auto of_carl = scene.Runs(1, kCarl);
  CHECK(scene.expected() <= kLimit);
}

TEST_CASE("an account without a running compile starts one of ordinary size at once") {
  Scene scene;
  scene.Know({100, 5000});
  const auto large = scene.Runs(5000);
  const auto larger = scene.Waits(5000);
  const auto of_bob = scene.Waits(5000, kBob);  // because its kind is known to be large
  std::vector<CompilePtr> more;
  for (uid_t uid = 2000; uid < 2020; ++uid) {
    more.push_back(scene.Runs(7, Account(uid)));
  }
  const auto of_carl = scene.Runs(100, kCarl);
  const auto more_of_carl = scene.Waits(100, kCarl);
  const auto of_root = scene.Runs(100, Account(0));
  CHECK(scene.expected() <= kLimit);
}

TEST_CASE("of two users without a compile, the one that compiled more recently waits") {
  Scene scene;
  scene.Know({700});
  const auto ann = scene.Runs(700);
  const auto more_of_ann = scene.Waits(700);
  const auto bob = scene.Waits(700, kBob);
  ann->End();
  CHECK(bob->WaitUntilStarted());
  CHECK(scene.memory.activity().waiting == 1);
}

TEST_CASE("a large compile of a user with a running one waits for a bounded number of others") {
  Scene scene;
  scene.Know({50, 100, 200, 300, 600});
  const auto small = scene.Runs(50, kBob);
  const auto ann = scene.Runs(300);
  const auto large = scene.Waits(600, kBob);
  for (size_t i = 0; i < FairQueue::kMaxPassedBy; ++i) scene.Runs(100, kCarl)->End();
  const auto carl = scene.Waits(200, kCarl);
  ann->End();
  CHECK(large->WaitUntilStarted());
}

TEST_CASE("a compile that several users wait for starts once one of them may start it") {
  Scene scene;
  scene.Know({100, 700});
  const auto ann = scene.Runs(700);
  const auto one = scene.Waits(100);
  scene.Wants(*one, 100, kAnn);
  CHECK(scene.memory.activity().waiting == 1);
  scene.Wants(*one, 100, kCarl);
  CHECK(one->WaitUntilStarted());
  CHECK(scene.memory.activity().waiting == 0);
}

TEST_CASE("one user's memory estimate does not delay the same build of another user") {
  Scene scene;
  scene.Know({700});
  const auto ann = scene.Runs(700);
  const auto wanted = scene.Waits(700);
  scene.Wants(*wanted, 1, kBob);  // of unknown kind
  CHECK(wanted->WaitUntilStarted());
}

TEST_CASE("a compile that waits for most of the memory leaves the reserve to other users") {
  Scene scene;
  scene.Know({100, 300, 900});
  const auto ann = scene.Runs(300);
  const auto large = scene.Waits(900, kBob);
  for (size_t i = 0; i < FairQueue::kMaxPassedBy; ++i) scene.Runs(100)->End();
  const auto waits = scene.Waits(100);
  const auto of_carl = scene.Runs(100, kCarl);
  ann->End();
  CHECK(large->WaitUntilStarted());
}

TEST_CASE("one user takes at most as much of the reserve as it leaves to others") {
  Scene scene;
  scene.Know({50, 750});
  const auto large = scene.Runs(750);
  const auto one = scene.Runs(50, kBob);
  const auto two = scene.Runs(50, kBob);
  const auto three = scene.Waits(50, kBob);
  one->End();
  CHECK(three->WaitUntilStarted());
}

TEST_CASE("the queue asks idle compiles to stop when a caller's compile waits for memory") {
  Scene scene;
  scene.Know({100, 300, 700});
  const auto idle = scene.RunsIdle(300);
  const auto more = scene.WaitsIdle(700);
  CHECK(scene.asked_for_room == 0);
  CHECK_FALSE(scene.memory.items_wait());
  const auto large = scene.Waits(700);  // which goes before the waiting idle compile
  CHECK(scene.memory.items_wait());
  REQUIRE(WaitUntil([&] { return scene.asked_for_room == 1; }));
  idle->End();
  CHECK(large->WaitUntilStarted());
  CHECK_FALSE(scene.memory.items_wait());
  const auto no_reserve = scene.WaitsIdle(100, kCarl);
}

TEST_CASE("an idle compile does not count as its account's running compile") {
  Scene scene;
  scene.Know({100, 300, 450});
  const auto idle = scene.RunsIdle(300);
  const auto bob = scene.Runs(450, kBob);
  const auto ann = scene.Runs(100);
}

TEST_CASE("without a limit no compile waits for memory") {
  Statistics statistics;
  CompileMemory memory(0, statistics);
  const auto first = memory.TryStart(KindNamed("a"));
  const auto second = memory.TryStart(KindNamed("a"));
  CHECK(second != nullptr);
  CHECK(memory.activity().expected_bytes == 2 * CompileMemory::kUnknownBytes);
  CHECK(statistics.Get(Counter::kMemoryWaits) == 0);
}

TEST_CASE("a bounded number of small compiles pass a large one that waits for memory") {
  Scene scene;
  scene.Know({100, 300, 600});
  const auto runs = scene.Runs(300);
  const auto large = scene.Waits(600);
  for (size_t i = 0; i < FairQueue::kMaxPassedBy; ++i) scene.Runs(100)->End();
  const auto small = scene.Waits(100);
  runs->End();
  CHECK(large->WaitUntilStarted());
  CHECK(small->WaitUntilStarted());
}

TEST_CASE(
    "a quarter of the memory is reserved for accounts without a running compile, and for root") {
  Scene scene;
  scene.Know({50, 100, 200, 750});
  const auto ann = scene.Runs(750);
  const auto more = scene.Waits(200);
  const auto bob = scene.Runs(100, kBob);
  const auto of_root = scene.Runs(100, Account(0));
  const auto more_of_root = scene.Runs(50, Account(0));
  CHECK(scene.expected() == 750 + 100 + 75 + 50);
}

TEST_CASE("free memory goes first to accounts without a running compile") {
  Scene scene;
  scene.Know({200, 500});
  const auto long_one = scene.Runs(200);
  const auto ann = scene.Runs(500);
  const auto next_of_ann = scene.Waits(500);
  const auto bob = scene.Waits(500, kBob);
  ann->End();
  CHECK(bob->WaitUntilStarted());
  CHECK(scene.memory.activity().waiting == 1);
}

TEST_CASE(
    "a large compile of an account without a running one is overtaken a bounded number of times") {
  Scene scene;
  scene.Know({100, 300, 900});
  const auto ann = scene.Runs(300);
  const auto large = scene.Waits(900, kBob);
  for (size_t i = 0; i < FairQueue::kMaxPassedBy; ++i) scene.Runs(100)->End();
  const auto small = scene.Waits(100);
  ann->End();
  CHECK(large->WaitUntilStarted());
}

TEST_CASE("a compile that is cancelled while it waits for memory unblocks later ones") {
  Scene scene;
  scene.Know({100, 300, 600});
  const auto runs = scene.Runs(300);
  const auto large = scene.Waits(600);
  for (size_t i = 0; i < FairQueue::kMaxPassedBy; ++i) scene.Runs(100)->End();
  const auto small = scene.Waits(100);
  large->End();
  CHECK(small->WaitUntilStarted());
  CHECK(scene.memory.activity().waiting == 0);
}

TEST_CASE("memory that one compile frees starts all waiting compiles that fit") {
  Scene scene;
  scene.Know({20, 750});
  const auto bob = scene.Runs(750, kBob);
  std::vector<CompilePtr> of_ann;
  for (size_t i = 0; i < 30; ++i) of_ann.push_back(scene.Start(20, kAnn));
  REQUIRE(WaitUntil([&] { return scene.memory.activity().waiting == FairQueue::kMaxPassedBy; }));
  bob->End();
  for (const CompilePtr& compile : of_ann) CHECK(compile->WaitUntilStarted());
}

TEST_CASE("only one large compile of a user at a time goes before other users' compiles") {
  Scene scene;
  scene.Know({100, 140, 300, 600});
  const auto runs = scene.Runs(300, kCarl);
  const auto large = scene.Waits(600);
  const auto next = scene.Waits(600);
  for (size_t i = 0; i < FairQueue::kMaxPassedBy; ++i) scene.Runs(100, kCarl)->End();
  runs->End();
  REQUIRE(large->WaitUntilStarted());
  const auto of_carl = scene.Runs(140, kCarl);
}

TEST_CASE("a warm-up that waits for memory does not go first after kMaxPassedBy other builds") {
  Scene scene;
  scene.Know({100, 200, 300, 600});
  const auto runs = scene.Runs(300, kCarl);
  const auto warm_up = scene.Waits(600, kAnn, BuildPriority::kWarmUp);
  for (size_t i = 0; i < FairQueue::kMaxPassedBy; ++i) scene.Runs(100, kCarl)->End();
  const auto of_ann = scene.Runs(200);
}

TEST_CASE("a compile of several users that was passed often starts once it fits for one") {
  Scene scene;
  scene.Know({100, 300, 700});
  const auto idle = scene.RunsIdle(300);
  const auto runs = scene.Runs(300, kCarl);
  const auto wanted = scene.Waits(700);
  scene.Wants(*wanted, 300, kBob);
  for (size_t i = 0; i < FairQueue::kMaxPassedBy; ++i) scene.Runs(100, kCarl)->End();
  runs->End();
  CHECK(wanted->WaitUntilStarted());
}

TEST_CASE("containers get at most half of the slots while a user of the node waits for memory") {
  Scene scene({.slots = 4});
  scene.Know({50, 300, 600});
  const auto idle = scene.RunsIdle(300);
  const auto ann = scene.Waits(600);
  const auto one = scene.Runs(1, Account(kFirstContainerUser + 1));
  const auto two = scene.Runs(1, Account(kFirstContainerUser + 2));
  const auto three = scene.Start(1, Account(kFirstContainerUser + 3));
  for (size_t i = 0; i < 4; ++i) scene.Runs(50, kBob)->End();
  CHECK(scene.queue.waiting() == 2);
  ann->End();
  CHECK(three->WaitUntilStarted());
}

TEST_CASE("a compile that was passed often gets freed memory in a relief slot too") {
  Scene scene({.slots = 1, .relief_slots = 1, .relief_after = std::chrono::milliseconds(1)});
  scene.Know({100, 300, 600});
  const auto idle = scene.RunsIdle(300);
  const auto large = scene.Waits(600, kBob);
  for (size_t i = 0; i < FairQueue::kMaxPassedBy; ++i) scene.Runs(100, kCarl)->End();
  const auto runs = scene.Runs(100, kCarl);
  idle->End();
  CHECK(large->WaitUntilStarted());
}

TEST_CASE("the estimate of a kind rises at once and falls gradually") {
  Scene scene;
  const Kind kind = KindNamed("a");
  scene.Learn(kind, 1600);
  CHECK(scene.memory.Expected(kind) == 1600);
  scene.Learn(kind, 0);
  CHECK(scene.memory.Expected(kind) == 1500);
  scene.Learn(kind, 2000);
  CHECK(scene.memory.Expected(kind) == 2000);
}

TEST_CASE("a stopped compile only raises the estimate of its kind") {
  Scene scene;
  const Kind kind = KindNamed("a");
  scene.Learn(kind, 100, false);
  CHECK(scene.memory.Expected(kind) == CompileMemory::kUnknownBytes);
  scene.Learn(kind, CompileMemory::kUnknownBytes + 1, false);
  CHECK(scene.memory.Expected(kind) == CompileMemory::kUnknownBytes + 1);
  scene.Learn(kind, 100, false);
  CHECK(scene.memory.Expected(kind) == CompileMemory::kUnknownBytes + 1);
}

TEST_CASE("the estimate of an unknown kind comes from other kinds of its compiler and account") {
  Scene scene;
  CHECK(scene.memory.Expected(KindNamed("a")) == CompileMemory::kUnknownBytes);
  scene.Learn(KindNamed("a"), 700);
  CHECK(scene.memory.Expected(KindNamed("b")) == 700);
  CHECK(scene.memory.Expected(KindNamed("a", kBob)) == CompileMemory::kUnknownBytes);
}

TEST_CASE("the kinds of one account are bounded, and evict none of another's") {
  Scene scene;
  const Kind oldest = KindNamed("oldest");
  const Kind of_bob = KindNamed("a", kBob);
  scene.Learn(of_bob, 100);
  scene.Learn(oldest, 100);
  // Two entries exist: the oldest kind, and the estimate for unknown kinds of the account.
  for (size_t i = 2; i < CompileMemory::kMaxKindsPerAccount; ++i) {
    scene.Learn(KindNamed(std::to_string(i)), 200);
    CHECK(scene.memory.Expected(oldest) == 100);
  }
  scene.Learn(KindNamed("one more"), 200);
  CHECK(scene.memory.Expected(oldest) == 200);
  CHECK(scene.memory.Expected(of_bob) == 100);
}

TEST_CASE("the kinds of all accounts together are bounded") {
  Scene scene;
  constexpr size_t kEach = CompileMemory::kMaxKindsPerAccount - 2;
  constexpr size_t kAccounts = CompileMemory::kMaxKinds / kEach + 2;
  size_t known = 0;
  for (uid_t uid = 1; uid <= kAccounts; ++uid) {
    for (size_t i = 0; i < kEach; ++i) {
      scene.Learn(KindNamed(std::to_string(i), Account(uid)), 100);
    }
    scene.Learn(KindNamed("larger", Account(uid)),
                200);  // the estimate of evicted kinds
  }
  for (uid_t uid = 1; uid <= kAccounts; ++uid) {
    for (size_t i = 0; i < kEach; ++i) {
      if (scene.memory.Expected(KindNamed(std::to_string(i), Account(uid))) == 100) ++known;
    }
  }
  CHECK(known < CompileMemory::kMaxKinds);
  CHECK(known > CompileMemory::kMaxKinds / 2);
}

TEST_CASE("programs with equal compiler, headers, size and account are of one kind") {
  const auto kind_of = [](const std::string& source, Account account = kAnn,
                          const std::string& toolchain = "13") {
    CompileJob job;
    job.toolchain = MakeToolchain(toolchain);
    job.request = testing::MakeRequest(source);
    return CompileMemory::KindOf(job, account).kind;
  };
  const std::string program = "#include <cub/cub.cuh>\nint x;\n";
  CHECK(kind_of(program) == kind_of("// other\n #include <cub/cub.cuh>\nint y = 1;\n"));
  CHECK(kind_of(program) != kind_of("#include <cub/block.cuh>\nint x;\n"));
  CHECK(kind_of(program) != kind_of(program + std::string(100'000, ' ')));
  CHECK(kind_of(program) != kind_of(program, kBob));
  CHECK(kind_of(program) != kind_of(program, kAnn, "12"));
  CHECK(kind_of("int x;") == kind_of("int y; // #include"));

  CompileJob job;
  job.toolchain = MakeToolchain();
  job.request = testing::MakeRequest("");
  const Kind nvrtc = CompileMemory::KindOf(job, kAnn);
  const auto link = testing::MakeRequest("");
  link->program = cccl_cache::LinkProgram{};
  job.request = link;
  CHECK(CompileMemory::KindOf(job, kAnn).any_like != nvrtc.any_like);
}

}  // namespace
}  // namespace cccl_cache::daemon::compile_memory_test
