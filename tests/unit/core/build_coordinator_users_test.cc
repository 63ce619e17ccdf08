// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Effects of one user's files on others, and of a build whose caller left.
#include <catch2/catch.hpp>
#include <string>

#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/model/compiler.h"
#include "tests/support/wait_until.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon::build_coordinator_users_test {
namespace {

using testing::Answers;
using testing::CoordinatorBench;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::RequestIn;
using testing::Succeed;

// A program that includes "local.h" from its working directory. The output shows the path if the
// header has __FILE__.
Result<CompileOutput> ShowsWhatIsNamed(const CompileJob& job, int) {
  const Result<FileAnswer> local = job.files->Ask(job.visible_working_directory + "/local.h");
  if (!local) return local.error();
  if (local->kind == FileKind::kAbsent) return Succeed("nothing");
  const bool shows = local->contents->find("__FILE__") != std::string::npos;
  return Succeed(shows ? job.program_name + " in " + job.visible_working_directory
                       : "from " + *local->contents);
}

TEST_CASE("a user's headers that show paths cost no other user a hit") {
  CoordinatorBench bench(ShowsWhatIsNamed);
  for (const char* place : {"/home/mallory", "/home/mallory/two"}) {
    bench.files.disk->Write(std::string(place) + "/local.h", "__FILE__");
  }
  bench.files.disk->Write("/home/here/local.h", "plain");
  bench.files.disk->Write("/home/there/local.h", "plain");
  for (const char* place : {"/home/mallory", "/home/mallory/two"}) {
    const auto shows = bench.Ask(RequestIn(place), kBob);
    REQUIRE(shows.ok());
    CHECK(shows->outcome == Outcome::kBuilt);
  }
  // Waits for artifacts and manifests under the real paths.
  REQUIRE(bench.disk.WaitUntilHolds(4));

  const auto here = bench.Ask(RequestIn("/home/here"));
  REQUIRE(here.ok());
  CHECK(here->outcome == Outcome::kBuilt);
  const auto there = bench.Ask(RequestIn("/home/there"));
  REQUIRE(there.ok());
  CHECK(there->outcome == Outcome::kHit);
  const auto again = bench.Ask(RequestIn("/home/mallory"), kBob);
  REQUIRE(again.ok());
  CHECK(again->outcome == Outcome::kHit);
}

TEST_CASE("an error from one caller's files is not returned to waiters with other files") {
  CoordinatorBench bench(ShowsWhatIsNamed);
  bench.files.disk->Refuse("/home/here/local.h", {ErrorCode::kTimedOut, "the disk hung"});
  bench.files.disk->Write("/home/there/local.h", "plain");
  bench.compiler.Shut();
  Answers here;
  Answers there;
  bench.coordinator->Start(RequestIn("/home/here"), kAlice, here.Collect());
  bench.coordinator->Start(RequestIn("/home/there"), kAlice, there.Collect());
  bench.compiler.Open();
  CHECK(here.Wait(1).at(0).error().code == ErrorCode::kTimedOut);
  const auto answer = there.Wait(1).at(0);
  REQUIRE(answer.ok());
  CHECK(answer->artifact->parts[0].bytes == "from plain");
}

TEST_CASE("the request of a caller that leaves during a look at its files is released") {
  CoordinatorBench bench(ShowsWhatIsNamed);
  bench.files.disk->Write("/home/someone/local.h", "plain");
  CHECK(bench.BuildOne("a").outcome == Outcome::kBuilt);
  bench.files.disk->Hang();
  auto request = MakeRequest("a");
  const std::weak_ptr<const cccl_cache::BuildRequest> held = request;
  Answers answers;
  const int looks = bench.files.disk->looks();
  const auto ticket = bench.coordinator->Start(std::move(request), kAlice, answers.Collect());
  REQUIRE(WaitUntil([&] { return bench.files.disk->looks() > looks; }));
  CHECK_FALSE(held.expired());
  bench.coordinator->Leave(ticket);
  CHECK(held.expired());
  bench.files.disk->Wake();
  bench.Stop();
  CHECK(answers.size() == 0);
}

TEST_CASE("a build whose files hang is answered when the coordinator ends") {
  CoordinatorBench bench(ShowsWhatIsNamed);
  bench.files.disk->Write("/home/someone/local.h", "plain");
  CHECK(bench.BuildOne("a").outcome == Outcome::kBuilt);
  bench.files.disk->Hang();
  Answers answers;
  bench.coordinator->Start(MakeRequest("a"), kAlice, answers.Collect());
  bench.Stop();
  const auto told = answers.Wait(1);
  REQUIRE(told.size() == 1);
  REQUIRE_FALSE(told[0].ok());
  CHECK(told[0].error().code == ErrorCode::kUnavailable);
  bench.files.disk->Wake();
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_users_test
