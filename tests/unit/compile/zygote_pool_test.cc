// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/zygote_pool.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/compile/compile_fixture.h"

namespace cccl_cache::daemon::zygote_pool_test {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("a warmed toolchain is loaded before its first job") {
  CompileFixture fixture;
  REQUIRE(fixture.compiler.Warm(*fixture.toolchain).ok());
  CHECK(fixture.toolkit->loads() == 1);
  CHECK(fixture.Compile("").ok());
  CHECK(fixture.toolkit->loads() == 1);
}

TEST_CASE("a loaded toolchain is listed with its memory and its jobs") {
  CompileFixture fixture;
  CHECK(fixture.compiler.Zygotes().empty());
  CHECK(fixture.Compile("").ok());
  const std::vector<ZygoteActivity> zygotes = fixture.compiler.Zygotes();
  REQUIRE(zygotes.size() == 1);
  CHECK(zygotes[0].toolchain == fixture.toolchain->version());
  CHECK(zygotes[0].resident_bytes > 100'000);
  CHECK(zygotes[0].jobs == 1);
  CHECK_FALSE(zygotes[0].apart);
}

TEST_CASE("the sandbox is announced while the pool is not locked") {
  CompileFixture* in_use = nullptr;
  int announced = 0;
  CompileFixture fixture({.announce_sandbox = [&](const ZygoteReady&) {
    ++announced;
    in_use->compiler.KeepOnly(std::vector{in_use->toolchain});  // would wait forever if the pool
                                                                // were locked
  }});
  in_use = &fixture;
  CHECK(fixture.Compile("").ok());
  CHECK(announced == 1);
}

TEST_CASE("a zygote killed between two jobs is replaced and reported") {
  CompileFixture fixture;
  REQUIRE(fixture.Compile("").ok());
  const pid_t zygote = ChildrenOf().at(0);
  kill(zygote, SIGKILL);
  siginfo_t info;
  REQUIRE(waitid(P_PID, static_cast<id_t>(zygote), &info, WEXITED | WNOWAIT) == 0);
  CHECK(fixture.Compile("").ok());
  CHECK(fixture.toolkit->loads() == 2);
  CHECK(ChildrenOf().size() == 1);
  REQUIRE(fixture.reports().size() == 1);
  CHECK_THAT(fixture.reports()[0], Contains("ended unexpectedly"));
}

TEST_CASE("the job of a zygote that is killed is run again by a new zygote") {
  CompileFixture fixture;
  std::jthread killer([&] {
    CHECK(fixture.toolkit->WaitForArrivals("gate", 1));
    kill(ChildrenOf().at(0), SIGKILL);
    CHECK(fixture.toolkit->WaitForArrivals("gate", 2));
    fixture.toolkit->Open("gate");
  });
  CHECK(fixture.Compile("//fake: wait-for gate").ok());
  killer.join();
  CHECK(fixture.toolkit->loads() == 2);
  CHECK(ChildrenOf().size() == 1);
}

TEST_CASE("a zygote is replaced after the maximum number of forks") {
  CompileFixture fixture({.forks_per_zygote = 3});
  for (int job = 0; job < 7; ++job) CHECK(fixture.Compile("").ok());
  CHECK(fixture.toolkit->loads() == 3);
  CHECK(ChildrenOf().size() == 1);
  CHECK(fixture.reports().empty());
}

TEST_CASE("a replaced zygote lives on until its last job has ended") {
  CompileFixture fixture({.forks_per_zygote = 1});
  Result<CompileOutput> slow = Error{};
  std::jthread slow_job([&] { slow = fixture.Compile("//fake: wait-for gate"); });
  REQUIRE(fixture.toolkit->WaitForArrivals("gate", 1));
  CHECK(fixture.Compile("").ok());
  CHECK(ChildrenOf().size() == 2);
  fixture.toolkit->Open("gate");
  slow_job.join();
  CHECK(slow.ok());
  CHECK(fixture.toolkit->loads() == 2);
  CHECK(ChildrenOf().size() == 1);
}

TEST_CASE("the zygote of a removed toolchain ends") {
  CompileFixture fixture;
  REQUIRE(fixture.Compile("").ok());
  fixture.compiler.KeepOnly(std::vector{fixture.toolchain});
  CHECK(ChildrenOf().size() == 1);
  fixture.compiler.KeepOnly({});
  CHECK(ChildrenOf().empty());
  CHECK(fixture.Compile("").ok());
}

bool CompilesFor(CompileFixture& fixture, uid_t user, const std::string& source = "") {
  CompileJob job = fixture.NvrtcJob(source);
  job.account = Account(user);
  return fixture.compiler.Compile(job, CompileFixture::SmallLimits(), {}).ok();
}

bool IsChild(pid_t pid) { return std::ranges::count(ChildrenOf(), pid) == 1; }

constexpr uid_t kMallory = 1001;
constexpr uid_t kAnn = 1002;

TEST_CASE("a user with a crashed compile gets separate zygotes, so later crashes spare others") {
  CompileFixture fixture;
  CHECK_FALSE(CompilesFor(fixture, kMallory, "//fake: crash"));
  REQUIRE(CompilesFor(fixture, kAnn));
  const pid_t shared = ChildrenOf().at(0);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(CompilesFor(fixture, kMallory, "//fake: crash"));
  CHECK(CompilesFor(fixture, kMallory));
  CHECK(IsChild(shared));
  CHECK(ChildrenOf().size() == 2);
  CHECK(CompilesFor(fixture, kAnn));
  CHECK(ChildrenOf().size() == 2);
}

TEST_CASE("a user whose last crash is long ago uses the shared zygote") {
  CompileFixture fixture({.kept_apart = std::chrono::milliseconds(0)});
  CHECK_FALSE(CompilesFor(fixture, kMallory, "//fake: crash"));
  REQUIRE(CompilesFor(fixture, kMallory));
  const pid_t shared = ChildrenOf().at(0);
  CHECK(CompilesFor(fixture, kAnn));
  CHECK(ChildrenOf() == std::vector{shared});
}

TEST_CASE("all accounts that are kept apart share two zygotes") {
  CompileFixture fixture({.zygotes = 1});
  for (const uid_t user : {kMallory, kMallory + 10, kMallory + 20}) {
    CHECK_FALSE(CompilesFor(fixture, user, "//fake: crash"));
  }
  REQUIRE(CompilesFor(fixture, kAnn));
  const pid_t shared = ChildrenOf().at(0);
  for (const uid_t user : {kMallory, kMallory + 10, kMallory + 20}) {
    CHECK(CompilesFor(fixture, user));
  }
  CHECK(ChildrenOf().size() == 3);
  CHECK(IsChild(shared));
}

TEST_CASE("the number of loaded toolchains is bounded") {
  CompileFixture fixture({.zygotes = 1});
  CompileFixture other({}, 12);
  REQUIRE(fixture.Compile("").ok());
  REQUIRE(fixture.compiler.Compile(other.NvrtcJob(""), CompileFixture::SmallLimits(), {}).ok());
  CHECK(ChildrenOf().size() == 1);
  REQUIRE(fixture.Compile("").ok());
  CHECK(fixture.toolkit->loads() == 2);
}

TEST_CASE("no zygote outlives its pool") {
  {
    CompileFixture fixture;
    REQUIRE(fixture.Compile("").ok());
  }
  CHECK(ChildrenOf().empty());
}

TEST_CASE("the error of a toolchain that can't be loaded names the library") {
  CompileFixture fixture;
  std::filesystem::remove(fixture.toolkit->root() + "/lib/libnvrtc.so.13");
  const Status warmed = fixture.compiler.Warm(*fixture.toolchain);
  REQUIRE(!warmed.ok());
  CHECK(warmed.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(warmed.error().message, Contains("libnvrtc.so.13"));
  CHECK(ChildrenOf().empty());
}

TEST_CASE("the error of an unusable worker executable names it") {
  CompileFixture fixture;
  WorkerCompiler missing("/nonexistent/cccl-cached-worker", {}, [](std::string_view) {});
  const Result<CompileOutput> output =
      missing.Compile(fixture.NvrtcJob(""), CompileFixture::SmallLimits(), {});
  REQUIRE(!output.ok());
  CHECK(output.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(output.error().message, Contains("/nonexistent/cccl-cached-worker"));
}

// Makes an executable that writes nothing and does not end.
std::string MakeSilentWorker(const CompileFixture& fixture) {
  const std::string path = fixture.toolkit->root() + "/silent";
  std::ofstream(path) << "#!/bin/sh\nexec /bin/sleep 600\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

TEST_CASE("loading a toolchain counts against the time of the job that waits for it") {
  CompileFixture fixture;
  WorkerCompiler silent(MakeSilentWorker(fixture), {}, [](std::string_view) {});
  CompileLimits limits = CompileFixture::SmallLimits();
  limits.time = std::chrono::milliseconds(100);
  const auto start = std::chrono::steady_clock::now();
  const Result<CompileOutput> output = silent.Compile(fixture.NvrtcJob(""), limits, {});
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  REQUIRE(!output.ok());
  CHECK(output.error().code == ErrorCode::kTimedOut);
  CHECK_THAT(output.error().message,
             Contains("before its toolchain was loaded") && Contains("build_timeout"));
  CHECK(ChildrenOf().empty());
}

TEST_CASE("a job waits at most until its timeout for a toolchain that is being loaded") {
  CompileFixture fixture;
  WorkerCompiler silent(MakeSilentWorker(fixture), {.start_deadline = std::chrono::minutes(2)},
                        [](std::string_view) {});
  Status warmed = Ok{};
  std::jthread loader([&] { warmed = silent.Warm(*fixture.toolchain); });
  REQUIRE(WaitForChildren(0, 1));
  CompileLimits limits = CompileFixture::SmallLimits();
  limits.time = std::chrono::milliseconds(100);
  const Result<CompileOutput> output = silent.Compile(fixture.NvrtcJob(""), limits, {});
  for (const pid_t child : ChildrenOf()) kill(child, SIGKILL);
  loader.join();
  CHECK_FALSE(warmed.ok());
  REQUIRE(!output.ok());
  CHECK(output.error().code == ErrorCode::kTimedOut);
}

TEST_CASE("a job that starts without time left ends at once") {
  CompileFixture fixture;
  REQUIRE(fixture.Compile("").ok());
  CompileLimits limits = CompileFixture::SmallLimits();
  limits.deadline = std::chrono::steady_clock::now();
  const Result<CompileOutput> output = fixture.Compile("//fake: hang", limits);
  REQUIRE(!output.ok());
  CHECK(output.error().code == ErrorCode::kTimedOut);
}

TEST_CASE("a worker executable that exits at once is an error with its exit status") {
  CompileFixture fixture;
  WorkerCompiler other("/bin/false", {}, [](std::string_view) {});
  const Status warmed = other.Warm(*fixture.toolchain);
  REQUIRE(!warmed.ok());
  CHECK_THAT(warmed.error().message, Contains("exit status 1"));
  CHECK(ChildrenOf().empty());
}

}  // namespace
}  // namespace cccl_cache::daemon::zygote_pool_test
