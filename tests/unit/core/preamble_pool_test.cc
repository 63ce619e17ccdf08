// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/preamble_pool.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/core/job_files.h"
#include "tests/unit/core/fake_files.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cached {
namespace {

using cccl_cache::Sha256;
using testing::FakeCompiler;
using testing::FakePrecompiled;

/// A pool over a compiler that makes a preamble of as many bytes as its working directory says.
class Scene {
 public:
  explicit Scene(const PreamblePool::Bounds& bounds = {}) {
    compiler.SetPrecompilation(
        [this](const CompileJob& job) -> Result<std::shared_ptr<const Precompiled>> {
          ++parsed;
          sizes.push_back(job.visible_working_directory);
          for (const std::string& name : asks) {
            if (const auto answer = job.files->Ask(name); !answer) return answer.error();
          }
          if (job.visible_working_directory.empty()) {
            return Error{ErrorCode::kUnavailable, "no"};
          }
          last = std::make_shared<FakePrecompiled>(std::stoull(job.visible_working_directory));
          return std::shared_ptr<const Precompiled>(last);
        });
    pool.emplace(compiler, statistics, CompileLimits{}, bounds, [this] { return idle.load(); });
  }

  void Want(const std::string& key, const std::string& bytes = "100", uid_t uid = 1000,
            uint64_t held = 0) {
    pool->Want(Sha256(key), uid, held, [this, bytes] {
      PreamblePool::Order order;
      order.job.visible_working_directory = bytes;
      order.recorder = std::make_shared<ClosureRecorder>(
          files.Of({}, {}), std::vector<VisibleRoot>{}, ClosureRecorder::Events{});
      order.job.files = order.recorder;
      return order;
    });
  }
  ParsedPreamblePtr Find(const std::string& key) { return pool->Find(Sha256(key)); }
  /// Waits until so many have been parsed, and kept if they are.
  bool WaitForParsed(uint64_t count) {
    const auto deadline = std::chrono::steady_clock::now() + testing::kPatience;
    while (statistics.Get(Counter::kPreambles) < count) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::atomic<bool> idle{true};
  std::atomic<int> parsed{0};
  std::vector<std::string> asks;   ///< the files that each asks for
  std::vector<std::string> sizes;  ///< the bytes of each
  std::shared_ptr<FakePrecompiled> last;
  testing::FakeFileAccess files;
  FakeCompiler compiler{[](const CompileJob&, int) { return testing::Succeed(""); }};
  Statistics statistics;
  std::optional<PreamblePool> pool;
};

TEST_CASE("a wanted preamble is parsed in the background and found") {
  Scene scene;
  CHECK(scene.Find("a") == nullptr);
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("a") != nullptr);
  CHECK(scene.Find("b") == nullptr);
  scene.Want("a");
  scene.Want("b");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.parsed == 2);
}

TEST_CASE("while others compile only a preamble that was missed twice is parsed") {
  Scene scene;
  scene.idle = false;
  scene.Want("once");
  scene.Want("twice");
  scene.Want("twice");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("twice") != nullptr);
  CHECK(scene.Find("once") == nullptr);
  scene.idle = true;
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("once") != nullptr);
}

TEST_CASE("users take turns in having their preambles parsed") {
  Scene scene;
  scene.idle = false;
  for (const char* key : {"a", "b", "c"}) scene.Want(key, "100", 1000);
  scene.Want("d", "200", 1001);
  scene.idle = true;
  REQUIRE(scene.WaitForParsed(4));
  CHECK(scene.Find("c") != nullptr);
  CHECK(scene.sizes == std::vector<std::string>{"100", "200", "100", "100"});
}

TEST_CASE("the user who has most gives up a preamble for another's") {
  Scene scene({.bytes = 250});
  scene.Want("a", "100", 1000);
  REQUIRE(scene.WaitForParsed(1));
  scene.Want("b", "40", 1001);
  REQUIRE(scene.WaitForParsed(2));
  scene.Want("c", "100", 1000);
  REQUIRE(scene.WaitForParsed(3));
  scene.Want("d", "40", 1002);
  REQUIRE(scene.WaitForParsed(4));
  CHECK(scene.Find("a") == nullptr);
  for (const char* key : {"b", "c", "d"}) CHECK(scene.Find(key) != nullptr);
}

TEST_CASE("the user who wishes most gives up a wish for another's") {
  Scene scene({.wanted = 2});
  scene.idle = false;
  scene.Want("a", "1", 1000);
  scene.Want("b", "2", 1001);
  scene.Want("c", "3", 1001);
  scene.idle = true;
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("a") != nullptr);
  CHECK(scene.Find("c") != nullptr);
}

TEST_CASE("a user with too many wishes gives up his own oldest") {
  Scene scene({.wanted_per_uid = 2});
  scene.idle = false;
  scene.Want("a", "1", 1001);
  for (const char* key : {"b", "c", "d"}) scene.Want(key, "2", 1000);
  scene.idle = true;
  REQUIRE(scene.WaitForParsed(3));
  CHECK(scene.Find("b") == nullptr);
  for (const char* key : {"a", "c", "d"}) CHECK(scene.Find(key) != nullptr);
}

TEST_CASE("a user whose wishes keep too much in memory gives up his own oldest") {
  Scene scene({.wanted_bytes_per_uid = 100});
  scene.idle = false;
  scene.Want("a", "1", 1001, 100);
  scene.Want("b", "1", 1000, 30);
  scene.Want("c", "1", 1000, 50);
  scene.Want("d", "1", 1000, 50);
  scene.Want("e", "1", 1000, 101);
  scene.idle = true;
  REQUIRE(scene.WaitForParsed(3));
  for (const char* key : {"a", "c", "d"}) CHECK(scene.Find(key) != nullptr);
  for (const char* key : {"b", "e"}) CHECK(scene.Find(key) == nullptr);
}

TEST_CASE("if all wishes keep too much in memory, who keeps most gives up his oldest") {
  Scene scene({.wanted_bytes = 100});
  scene.idle = false;
  scene.Want("a", "1", 1000, 40);
  scene.Want("b", "1", 1001, 50);
  scene.Want("c", "1", 1002, 20);
  scene.idle = true;
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("b") == nullptr);
  for (const char* key : {"a", "c"}) CHECK(scene.Find(key) != nullptr);
}

TEST_CASE("what a preamble remembers about files counts as its bytes") {
  const std::string name = "/" + std::string(600, 'x');
  Scene scene({.bytes = 1000});
  scene.asks = {name};
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("a") != nullptr);
  scene.Want("b");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("a") == nullptr);
  CHECK(scene.Find("b") != nullptr);
}

TEST_CASE("a preamble that remembers too much about files is not kept") {
  Scene scene({.record_bytes = 500});
  scene.asks = {"/" + std::string(600, 'x')};
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("a") == nullptr);
}

TEST_CASE("a preamble over a file that shows the program's name is not kept") {
  Scene scene;
  scene.files.disk->Write("/inc/a.h", "const char* name = __BASE_FILE__;");
  scene.files.disk->Write("/inc/b.h", "const char* name = __FILE__;");
  scene.asks = {"/inc/b.h"};
  scene.Want("b");
  REQUIRE(scene.WaitForParsed(1));
  CHECK(scene.Find("b") != nullptr);
  scene.asks = {"/inc/a.h"};
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("a") == nullptr);
}

TEST_CASE("the preambles unused for longest go when there are too many bytes") {
  Scene scene({.bytes = 250});
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  scene.Want("b");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("a") != nullptr);
  scene.Want("c");
  REQUIRE(scene.WaitForParsed(3));
  CHECK(scene.Find("b") == nullptr);
  CHECK(scene.Find("a") != nullptr);
  CHECK(scene.Find("c") != nullptr);
}

TEST_CASE("the preambles unused for longest go when there are too many") {
  Scene scene({.preambles = 1});
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  scene.Want("b");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("a") == nullptr);
  CHECK(scene.Find("b") != nullptr);
}

TEST_CASE("a preamble that failed or is too large is not tried again soon") {
  Scene scene({.bytes = 1000});
  scene.Want("fails", "");
  REQUIRE(scene.WaitForParsed(1));
  scene.Want("large", "1001");
  REQUIRE(scene.WaitForParsed(2));
  CHECK(scene.Find("large") == nullptr);
  scene.Want("fails", "");
  scene.Want("large", "1001");
  scene.Want("good");
  REQUIRE(scene.WaitForParsed(3));
  CHECK(scene.parsed == 3);
}

TEST_CASE("a preamble that was dropped, or whose zygote is gone, is parsed anew") {
  Scene scene;
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  const ParsedPreamblePtr first = scene.Find("a");
  REQUIRE(first != nullptr);
  SECTION("dropped") { scene.pool->Drop(Sha256("a"), first); }
  SECTION("useless") { scene.last->Spoil(); }
  CHECK(scene.Find("a") == nullptr);
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(2));
  const ParsedPreamblePtr second = scene.Find("a");
  CHECK(second != nullptr);
  CHECK(second != first);
  scene.pool->Drop(Sha256("a"), first);
  CHECK(scene.Find("a") == second);
}

TEST_CASE("a preamble that a build failed with is not tried again soon") {
  Scene scene;
  scene.Want("a");
  REQUIRE(scene.WaitForParsed(1));
  const ParsedPreamblePtr parsed = scene.Find("a");
  REQUIRE(parsed != nullptr);
  SECTION("while it could be used") {
    scene.pool->Blame(Sha256("a"), parsed);
    scene.Want("a");
    scene.Want("b");
    REQUIRE(scene.WaitForParsed(2));
    CHECK(scene.Find("a") == nullptr);
    CHECK(scene.Find("b") != nullptr);
  }
  SECTION("unless its zygote is gone") {
    scene.last->Spoil();
    scene.pool->Blame(Sha256("a"), parsed);
    scene.Want("a");
    REQUIRE(scene.WaitForParsed(2));
    CHECK(scene.Find("a") != nullptr);
  }
}

TEST_CASE("without memory for them no preamble is parsed") {
  Scene scene({.bytes = 0});
  scene.Want("a");
  scene.Want("a");
  scene.pool->Stop();
  CHECK(scene.parsed == 0);
}

}  // namespace
}  // namespace cccl_cached
