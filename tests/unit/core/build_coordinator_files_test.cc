// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/model/compiler.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon::build_coordinator_files_test {
namespace {

using testing::Answers;
using testing::CoordinatorBench;
using testing::Fail;
using testing::IncludesLocal;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::MakeToolchain;
using testing::RequestIn;
using testing::Succeed;
using testing::TextOf;

TEST_CASE("a build is a hit while the files that its compile read are unchanged") {
  CoordinatorBench bench(IncludesLocal, {.second_tier = TierName::kDisk});
  bench.files.disk->Write("/home/someone/local.h", "one");
  CHECK(bench.BuildOne("a").outcome == Outcome::kBuilt);
  CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  bench.memory.Clear();
  const BuildAnswer hit = bench.BuildOne("a");
  CHECK(hit.outcome == Outcome::kHit);
  CHECK(hit.tier == TierName::kDisk);
  CHECK(bench.compiler.started() == 1);

  bench.files.disk->Write("/home/someone/local.h", "two");
  const BuildAnswer changed = bench.BuildOne("a");
  CHECK(changed.outcome == Outcome::kBuilt);
  CHECK(TextOf(changed) == "from two");
  CHECK(changed.key != hit.key);

  bench.files.disk->Write("/home/someone/local.h", "one");
  const BuildAnswer back = bench.BuildOne("a");
  CHECK(back.outcome == Outcome::kHit);
  CHECK(TextOf(back) == "from one");
  CHECK(back.key == hit.key);
}

TEST_CASE("each of many users with different headers for one program gets its hit") {
  constexpr uid_t kUsers = 20;
  CoordinatorBench bench(IncludesLocal, {.slots = 1});
  const auto home = [](uid_t user) { return "/home/" + std::to_string(user); };
  for (uid_t user = 0; user < kUsers; ++user) {
    bench.files.disk->Write(home(user) + "/local.h", std::to_string(user));
  }
  for (const Outcome outcome : {Outcome::kBuilt, Outcome::kHit}) {
    bench.files.opened = 0;
    Answers answers;
    for (uid_t user = 0; user < kUsers; ++user) {
      bench.coordinator->Start(RequestIn(home(user)), Peer{1000 + user, 1000, {}, 1},
                               answers.Collect());
    }
    std::vector<std::string> texts;
    for (const Result<BuildAnswer>& answer : answers.Wait(kUsers)) {
      REQUIRE(answer.ok());
      CHECK(answer->outcome == outcome);
      texts.push_back(TextOf(*answer));
    }
    std::ranges::sort(texts);
    CHECK(std::ranges::adjacent_find(texts) == texts.end());
    CHECK(texts.size() == kUsers);
    // Each build opens the file for its look-up, up to three times after other flights landed, and
    // for its compile.
    CHECK(bench.files.opened <= 6 * static_cast<int>(kUsers));
  }
  CHECK(bench.compiler.started() == kUsers);
}

TEST_CASE("a build is a miss after a file appears where its compile found none") {
  CoordinatorBench bench(IncludesLocal);
  CHECK(TextOf(bench.BuildOne("a")) == "nothing");
  CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  bench.files.disk->Write("/home/someone/local.h", "one");
  CHECK(TextOf(bench.BuildOne("a")) == "from one");
  bench.files.disk->Remove("/home/someone/local.h");
  const BuildAnswer gone = bench.BuildOne("a");
  CHECK(gone.outcome == Outcome::kHit);
  CHECK(TextOf(gone) == "nothing");
}

TEST_CASE("another user's build with equal files is a hit") {
  CoordinatorBench bench(IncludesLocal);
  bench.files.disk->Write("/home/someone/local.h", "one");
  bench.files.disk->Write("/home/else/local.h", "one");
  const BuildAnswer first = bench.BuildOne("a");
  const auto second = bench.Ask(RequestIn("/home/else"), kBob);
  REQUIRE(second.ok());
  CHECK(second->outcome == Outcome::kHit);
  CHECK(second->key == first.key);
}

TEST_CASE("files that only the client can read end the build with files-needed") {
  CoordinatorBench bench(IncludesLocal);
  bench.files.disk->Refuse("/home/someone/local.h", {ErrorCode::kFilesNeeded, "only you can"});
  for (int i = 0; i < 2; ++i) {
    const auto answer = bench.Ask(MakeRequest("a"));
    REQUIRE_FALSE(answer.ok());
    CHECK(answer.error().code == ErrorCode::kFilesNeeded);
  }
  CHECK(bench.compiler.started() == 2);
  CHECK(bench.disk.size() == 0);
}

// Like IncludesLocal, but fails to compile if local.h is wrong or missing.
Result<CompileOutput> NeedsLocal(const CompileJob& job, int call) {
  auto output = IncludesLocal(job, call);
  if (!output) return output;
  const std::string& text = output->artifact->parts[0].bytes;
  if (text == "nothing") return Fail(job.program_name + "(1): error: no local.h");
  if (text == "from wrong") return Fail("local.h(1): error: no");
  return output;
}

TEST_CASE("a failure is remembered while the files that it depends on are unchanged") {
  CoordinatorBench bench(NeedsLocal);
  const std::string header = "/home/someone/local.h";
  bench.files.disk->Write(header, "wrong");
  CHECK_FALSE(bench.BuildOne("a").remembered);
  const BuildAnswer again = bench.BuildOne("a");
  CHECK(again.outcome == Outcome::kFailed);
  CHECK(again.remembered);
  CHECK(again.log == "local.h(1): error: no");
  CHECK(bench.Count(Counter::kRememberedFailures) == 1);
  bench.files.disk->Write(header, "right");
  CHECK(TextOf(bench.BuildOne("a")) == "from right");
  CHECK(bench.compiler.started() == 2);
  bench.files.disk->Write(header, "wrong");
  CHECK(bench.BuildOne("a").remembered);
}

TEST_CASE("a failure for a missing file is remembered until the file exists") {
  CoordinatorBench bench(NeedsLocal);
  CHECK_FALSE(bench.BuildOne("a").remembered);
  CHECK(bench.BuildOne("a").remembered);
  bench.files.disk->Write("/home/someone/local.h", "right");
  CHECK(TextOf(bench.BuildOne("a")) == "from right");
}

TEST_CASE("a remembered failure names the caller's directory, not the failed build's") {
  CoordinatorBench bench(NeedsLocal);
  const auto named = [](const std::string& directory) {
    auto request = RequestIn(directory);
    std::get<cccl_cache::NvrtcProgram>(request->program).name = directory + "/k.cu";
    return request;
  };
  CHECK(bench.Ask(named("/home/one"))->log == "/home/one/k.cu(1): error: no local.h");
  const auto elsewhere = bench.Ask(named("/home/two"));
  CHECK(elsewhere->remembered);
  CHECK(elsewhere->log == "/home/two/k.cu(1): error: no local.h");
}

TEST_CASE("a failure that depends on files is no answer for other files or users") {
  CoordinatorBench bench(NeedsLocal);
  bench.files.disk->Write("/home/someone/local.h", "wrong");
  bench.files.disk->Write("/home/else/local.h", "right");
  CHECK_FALSE(bench.BuildOne("a").remembered);
  const auto elsewhere = bench.Ask(RequestIn("/home/else"));
  CHECK(TextOf(*elsewhere) == "from right");
  CHECK_FALSE(bench.BuildOne("a", kBob).remembered);
}

TEST_CASE("a quarantined build is compiled again after one of its files changed") {
  CoordinatorBench bench([](const CompileJob& job, int call) -> Result<CompileOutput> {
    auto output = IncludesLocal(job, call);
    if (!output || output->artifact->parts[0].bytes != "from deadly") return output;
    return Error{.code = ErrorCode::kWorkerCrashed,
                 .message = "the compiler died by SIGSEGV",
                 .own_signal = true};
  });
  const std::string header = "/home/someone/local.h";
  const auto dies = [&] {
    const Result<BuildAnswer> answer = bench.Ask(MakeRequest("a"));
    return !answer && answer.error().code == ErrorCode::kWorkerCrashed;
  };
  bench.files.disk->Write(header, "deadly");
  CHECK(dies());
  CHECK(dies());
  CHECK(bench.compiler.started() == 2);
  bench.files.disk->Write(header, "mended");
  CHECK(TextOf(bench.BuildOne("a")) == "from mended");
  CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  bench.files.disk->Write(header, "deadly");
  CHECK(dies());
  CHECK(bench.compiler.started() == 3);
  bench.files.disk->Remove(header);
  CHECK(TextOf(bench.BuildOne("a")) == "nothing");
}

TEST_CASE("a header with __TIME__ makes the build uncacheable") {
  CoordinatorBench bench(IncludesLocal);
  bench.files.disk->Write("/home/someone/local.h", "const char* t = __TIME__;");
  for (int i = 0; i < 2; ++i) {
    const BuildAnswer answer = bench.BuildOne("a");
    CHECK(answer.outcome == Outcome::kUncacheable);
    CHECK(answer.reason.find("__TIME__ is in local.h") != std::string::npos);
  }
  CHECK(bench.disk.size() == 0);
}

TEST_CASE("a program whose header has __FILE__ is compiled once in each directory") {
  CoordinatorBench bench(IncludesLocal);
  for (const char* place : {"/home/someone", "/home/else", "/home/third"}) {
    bench.files.disk->Write(std::string(place) + "/local.h", "__FILE__");
    for (const Outcome expected : {Outcome::kBuilt, Outcome::kHit}) {
      const auto answer = bench.Ask(RequestIn(place));
      REQUIRE(answer.ok());
      CHECK(answer->outcome == expected);
      CHECK(TextOf(*answer) == "from __FILE__");
    }
  }
}

TEST_CASE("a program whose output shows a path is compiled once in each directory") {
  CoordinatorBench bench([](const CompileJob& job, int call) -> Result<CompileOutput> {
    Result<CompileOutput> output = IncludesLocal(job, call);
    if (!output) return output;
    return Succeed(job.program_name + " in " + job.visible_working_directory);
  });
  for (const char* place : {"/home/someone", "/home/else"}) {
    bench.files.disk->Write(std::string(place) + "/local.h", "__FILE__");
  }
  const BuildAnswer here = bench.BuildOne("a");
  CHECK(TextOf(here) == "kernel.cu in /home/someone");
  const auto elsewhere = bench.Ask(RequestIn("/home/else"));
  REQUIRE(elsewhere.ok());
  CHECK(TextOf(*elsewhere) == "kernel.cu in /home/else");
  CHECK(bench.BuildOne("a").outcome == Outcome::kHit);
  CHECK(TextOf(bench.BuildOne("a")) == "kernel.cu in /home/someone");
}

TEST_CASE("an uncacheable program is compiled under the real paths") {
  CoordinatorBench bench([](const CompileJob& job, int call) -> Result<CompileOutput> {
    if (const auto output = IncludesLocal(job, call); !output) return output.error();
    return Succeed(job.program_name + " in " + job.visible_working_directory);
  });
  for (const char* header : {"plain", "const char* f = __FILE__;", "__TIME__"}) {
    bench.files.disk->Write("/home/someone/local.h", header);
    const BuildAnswer answer = bench.BuildOne("const char* t = __TIME__;");
    CHECK(answer.outcome == Outcome::kUncacheable);
    CHECK(TextOf(answer) == "kernel.cu in /home/someone");
  }
  CHECK(bench.Count(Counter::kMisses) == 0);
}

TEST_CASE("a path search does not judge LTO-IR by the PTX of a changed header") {
  const std::string live = "void f(int i) { assert(i); }";
  const std::string dead = "void f(int i) { assert(true); }";
  std::function<void(const std::string&)> write;
  CoordinatorBench bench([&](const CompileJob& job, int call) -> Result<CompileOutput> {
    const Result<CompileOutput> output = IncludesLocal(job, call);
    if (!output) return output;
    if (std::ranges::count(job.options, "--relocatable-device-code=true") != 0) {
      const bool shows = output->artifact->parts[0].bytes == "from " + live;
      return Succeed(shows ? job.program_name : "no path");
    }
    if (call == 1) write(dead);
    // LTO-IR can't be searched for names.
    return Succeed(job.program_name.starts_with('/') ? "canonical" : "real");
  });
  write = [&](const std::string& text) { bench.files.disk->Write("/home/someone/local.h", text); };
  const auto build = [&] {
    auto request = RequestIn("/home/someone");
    std::get<NvrtcProgram>(request->program).options = {"-arch=sm_90", "-dlto"};
    const auto answer = bench.Ask(std::move(request));
    REQUIRE(answer.ok());
    return TextOf(*answer);
  };
  write(live);
  build();
  write(live);
  CHECK(build() == "real");
}

TEST_CASE("a waiter with other directories gets no result of the leader's files") {
  CoordinatorBench bench(IncludesLocal);
  bench.files.disk->Write("/home/someone/local.h", "here");
  bench.files.disk->Write("/home/else/local.h", "there");
  bench.compiler.Shut();
  Answers here;
  Answers elsewhere;
  bench.coordinator->Start(MakeRequest("a"), kAlice, here.Collect());
  bench.coordinator->Start(RequestIn("/home/else"), kAlice, elsewhere.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.compiler.Open();
  const auto first = here.Wait(1);
  const auto second = elsewhere.Wait(1);
  REQUIRE(first.at(0).ok());
  REQUIRE(second.at(0).ok());
  CHECK(TextOf(*first[0]) == "from here");
  CHECK(TextOf(*second[0]) == "from there");
  CHECK(bench.compiler.started() == 2);
}

TEST_CASE("no user waits for another user's hung files") {
  CoordinatorBench bench(IncludesLocal);
  bench.compiler.Shut();
  Answers alices;
  Answers bobs;
  bench.coordinator->Start(MakeRequest("a"), kAlice, alices.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.coordinator->Start(MakeRequest("a"), kBob, bobs.Collect());
  CHECK(bench.compiler.started() == 1);  // Bob waits for Alice's compile
  bench.files.disk->Hang();
  bench.compiler.Open();
  CHECK(bench.compiler.WaitUntilStarted(2));  // Bob's own, because Alice's asks for files
  bench.files.disk->Wake();
  CHECK(alices.Wait(1).at(0).ok());
  CHECK(bobs.Wait(1).at(0).ok());
}

TEST_CASE("a build whose files hang ends with an error within its time limit") {
  CoordinatorBench bench(IncludesLocal, {.time = std::chrono::milliseconds(1)});
  CHECK(bench.BuildOne("a").outcome == Outcome::kBuilt);
  bench.files.disk->Hang();
  const auto answer = bench.Ask(MakeRequest("a"));
  bench.files.disk->Wake();
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::kTimedOut);
  CHECK(answer.error().message.find("file system") != std::string::npos);
}

TEST_CASE("a build is compiled again if its toolchain changed during the compile") {
  CoordinatorBench* the_bench = nullptr;
  CoordinatorBench bench([&](const CompileJob& job, int call) -> Result<CompileOutput> {
    if (call == 1) the_bench->toolchains.Replace(MakeToolchain("other"));
    return Succeed(job.toolchain->id.Hex());
  });
  the_bench = &bench;
  const BuildAnswer answer = bench.BuildOne("a");
  CHECK(answer.outcome == Outcome::kBuilt);
  CHECK(answer.artifact->parts[0].bytes == MakeToolchain("other")->id.Hex());
  CHECK(bench.compiler.started() == 2);
  CHECK(bench.disk.size() == 1);
}

TEST_CASE("a build is answered and not kept if its toolchain changes during every compile") {
  CoordinatorBench* the_bench = nullptr;
  CoordinatorBench bench([&](const CompileJob&, int call) -> Result<CompileOutput> {
    the_bench->toolchains.Replace(MakeToolchain(std::to_string(call)));
    return Succeed("x");
  });
  the_bench = &bench;
  CHECK(bench.BuildOne("a").outcome == Outcome::kUncacheable);
  CHECK(bench.disk.size() == 0);
}

TEST_CASE("a build after too many restarts never gets a result of another caller's files") {
  CoordinatorBench* the_bench = nullptr;
  CoordinatorBench bench([&](const CompileJob& job, int call) -> Result<CompileOutput> {
    if (call <= 3) {
      the_bench->toolchains.Replace(MakeToolchain(std::to_string(call)));
      return Succeed("x");
    }
    return IncludesLocal(job, call);
  });
  the_bench = &bench;
  bench.files.disk->Write("/home/someone/local.h", "here");
  bench.files.disk->Write("/home/else/local.h", "there");
  bench.compiler.Shut();
  Answers first;
  Answers second;
  bench.coordinator->Start(MakeRequest("a"), kAlice, first.Collect());
  bench.coordinator->Start(RequestIn("/home/else"), kAlice, second.Collect());
  bench.compiler.Open();
  const auto one = first.Wait(1).at(0);
  const auto other = second.Wait(1).at(0);
  REQUIRE(one.ok());
  CHECK(TextOf(*one) == "from here");
  if (other.ok()) {
    CHECK(TextOf(*other) == "from there");
  } else {
    CHECK(other.error().code == ErrorCode::kUnavailable);
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_files_test
