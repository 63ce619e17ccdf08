// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/model/compiler.h"
#include "tests/unit/core/answering_caller.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon::build_coordinator_sent_files_test {
namespace {

using testing::AnsweringCaller;
using testing::Answers;
using testing::CoordinatorBench;
using testing::Fail;
using testing::IncludesLocal;
using testing::kAlice;
using testing::kBob;
using testing::MakeRequest;
using testing::Succeed;
using testing::TextOf;

const std::string kLocal = "/home/someone/local.h";
const Error kClosed{ErrorCode::kFilesNeeded, "only the client can tell"};

std::shared_ptr<cccl_cache::BuildRequest> Request() {
  auto request = MakeRequest("a");
  request->files_view = cccl_cache::FilesView{7, 1, 2};
  return request;
}

Result<BuildAnswer> Build(CoordinatorBench& bench, const Caller& caller) {
  Answers answers;
  bench.coordinator->Start(Request(), caller, answers.Collect());
  return answers.Wait(1).at(0);
}

TEST_CASE("a build with sent files has the same key as with files read by path") {
  CoordinatorBench bench(IncludesLocal);
  bench.files.disk->Refuse(kLocal, kClosed);
  CHECK(Build(bench, kAlice).error().code == ErrorCode::kFilesNeeded);

  AnsweringCaller sender;
  sender.files = {{kLocal, "one"}};
  const auto built = Build(bench, {kAlice, sender.exchange});
  REQUIRE(built.ok());
  CHECK(built->outcome == Outcome::kBuilt);
  CHECK(TextOf(*built) == "from one");

  AnsweringCaller again(kAlice.uid, sender.sent);
  again.files = sender.files;
  const auto hit = Build(bench, {kAlice, again.exchange});
  REQUIRE(hit.ok());
  CHECK(hit->outcome == Outcome::kHit);
  CHECK(again.asked == std::vector<std::string>{kLocal});  // no contents

  bench.files.disk->Write("/home/else/local.h", "one");
  auto by_path = MakeRequest("a");
  by_path->working_directory = "/home/else";
  by_path->files_view = Request()->files_view;
  const auto same = bench.Ask(by_path, kBob);
  REQUIRE(same.ok());
  CHECK(same->outcome == Outcome::kHit);
  CHECK(same->key == built->key);

  AnsweringCaller changed(kAlice.uid, sender.sent);
  changed.files = {{kLocal, "two"}};
  const auto other = Build(bench, {kAlice, changed.exchange});
  REQUIRE(other.ok());
  CHECK(TextOf(*other) == "from two");
  CHECK(other->key != built->key);
}

TEST_CASE("a build known to need files gets files-needed without a compile") {
  CoordinatorBench bench(IncludesLocal);
  bench.files.disk->Refuse(kLocal, kClosed);
  AnsweringCaller sender;
  sender.files = {{kLocal, "one"}};
  REQUIRE(Build(bench, {kAlice, sender.exchange}).ok());
  const int started = bench.compiler.started();
  CHECK(Build(bench, kAlice).error().code == ErrorCode::kFilesNeeded);
  CHECK(bench.compiler.started() == started);
}

TEST_CASE("a failure with sent files is remembered for callers that send the same files") {
  CoordinatorBench bench([](const CompileJob& job, int call) -> Result<CompileOutput> {
    auto output = IncludesLocal(job, call);
    if (!output || output->artifact->parts[0].bytes != "from wrong") return output;
    return Fail("local.h(1): error: no");
  });
  bench.files.disk->Refuse(kLocal, kClosed);
  AnsweringCaller sender;
  sender.files = {{kLocal, "wrong"}};
  CHECK_FALSE(Build(bench, {kAlice, sender.exchange})->remembered);
  CHECK(Build(bench, kAlice).error().code == ErrorCode::kFilesNeeded);

  AnsweringCaller again(kAlice.uid, sender.sent);
  again.files = sender.files;
  const auto failed = Build(bench, {kAlice, again.exchange});
  REQUIRE(failed.ok());
  CHECK(failed->outcome == Outcome::kFailed);
  CHECK(failed->remembered);
  CHECK(again.asked == std::vector<std::string>{kLocal});  // no contents

  AnsweringCaller changed(kAlice.uid, sender.sent);
  changed.files = {{kLocal, "right"}};
  CHECK(TextOf(*Build(bench, {kAlice, changed.exchange})) == "from right");
}

TEST_CASE("a caller that claims a digest without its contents gets no result of it") {
  CoordinatorBench bench(IncludesLocal);
  bench.files.disk->Refuse(kLocal, kClosed);
  AnsweringCaller alice(kAlice.uid);
  alice.files = {{kLocal, "secret"}};
  REQUIRE(Build(bench, {kAlice, alice.exchange}).ok());

  AnsweringCaller bob(kBob.uid, alice.sent);
  bob.files = {{kLocal, "a guess"}};
  bob.claims = {{kLocal, cccl_cache::Sha256("secret")}};
  const auto answer = Build(bench, {kBob, bob.exchange});
  REQUIRE(answer.ok());
  CHECK(TextOf(*answer) == "from a guess");
}

// A program that includes local.h, then the file named in local.h, and so on.
Result<CompileOutput> FollowsLocal(const CompileJob& job, int) {
  const std::string directory = job.program_name.substr(0, job.program_name.rfind('/'));
  Result<FileAnswer> file = job.files->Ask(directory + "/local.h");
  std::string text = "from";
  while (file && file->kind == FileKind::kFile) {
    text += " " + *file->contents;
    file = job.files->Ask(directory + "/" + *file->contents);
  }
  return file ? Result<CompileOutput>(Succeed(text)) : file.error();
}

TEST_CASE("a caller does not learn the includes of another user's program") {
  CoordinatorBench bench(FollowsLocal);
  for (const char* name : {"local.h", "secret.h", "end", "mine"}) {
    bench.files.disk->Refuse(std::string("/home/someone/") + name, kClosed);
  }
  AnsweringCaller alice(kAlice.uid);
  alice.files = {{kLocal, "secret.h"}, {"/home/someone/secret.h", "end"}};
  REQUIRE(Build(bench, {kAlice, alice.exchange}).ok());

  AnsweringCaller without(kBob.uid, alice.sent);
  REQUIRE(Build(bench, {kBob, without.exchange}).ok());
  CHECK(std::ranges::count(without.asked, kLocal) +
            std::ranges::count(without.asked, kLocal + " contents") ==
        static_cast<int>(without.asked.size()));

  AnsweringCaller other(kBob.uid, alice.sent);
  other.files = {{kLocal, "mine"}};
  REQUIRE(Build(bench, {kBob, other.exchange}).ok());
  CHECK(other.asked ==
        std::vector<std::string>{kLocal, kLocal + " contents", "/home/someone/mine"});

  AnsweringCaller with(kBob.uid, alice.sent);
  with.files = alice.files;
  const auto hit = Build(bench, {kBob, with.exchange});
  REQUIRE(hit.ok());
  CHECK(hit->outcome == Outcome::kHit);
  // The names of Bob's own earlier build are asked for first.
  CHECK(with.asked == std::vector<std::string>{kLocal, "/home/someone/mine", kLocal + " contents",
                                               "/home/someone/secret.h",
                                               "/home/someone/secret.h contents",
                                               "/home/someone/end"});
}

TEST_CASE("the names of a closure that has matched for a user are asked for at once") {
  CoordinatorBench bench(FollowsLocal);
  for (const char* name : {"local.h", "secret.h", "end"}) {
    bench.files.disk->Refuse(std::string("/home/someone/") + name, kClosed);
  }
  AnsweringCaller alice(kAlice.uid);
  alice.files = {{kLocal, "secret.h"}, {"/home/someone/secret.h", "end"}};
  REQUIRE(Build(bench, {kAlice, alice.exchange}).ok());
  AnsweringCaller builder(kAlice.uid, alice.sent);
  builder.files = alice.files;
  REQUIRE(Build(bench, {kAlice, builder.exchange}).ok());
  CHECK(builder.batches == std::vector<size_t>{3});

  AnsweringCaller first(kBob.uid, alice.sent);
  first.files = alice.files;
  REQUIRE(Build(bench, {kBob, first.exchange}).ok());
  CHECK(first.batches == std::vector<size_t>{1, 1, 1, 1, 1});  // two of them for contents
  AnsweringCaller second(kBob.uid, alice.sent);
  second.files = alice.files;
  const auto hit = Build(bench, {kBob, second.exchange});
  REQUIRE(hit.ok());
  CHECK(hit->outcome == Outcome::kHit);
  CHECK(second.batches == std::vector<size_t>{3});
}

TEST_CASE("a waiter starts again with its own files when its leader stops sending") {
  CoordinatorBench bench(IncludesLocal, {.slots = 1});
  bench.files.disk->Refuse(kLocal, kClosed);
  bench.compiler.Shut();
  Answers blocked, leaders, followers;
  bench.coordinator->Start(MakeRequest("blocker"), kBob, blocked.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  AnsweringCaller leader;
  leader.silent = true;
  AnsweringCaller follower(kAlice.uid, leader.sent);
  follower.files = {{kLocal, "one"}};
  bench.coordinator->Start(Request(), {kAlice, leader.exchange}, leaders.Collect());
  bench.coordinator->Start(Request(), {kAlice, follower.exchange}, followers.Collect());
  SECTION("the leader is silent") {}
  SECTION("the leader is gone") { leader.exchange->End(Error{ErrorCode::kCancelled, "left"}); }
  bench.compiler.Open();
  const auto answer = followers.Wait(1).at(0);
  REQUIRE(answer.ok());
  CHECK(TextOf(*answer) == "from one");
  CHECK_FALSE(leaders.Wait(1).at(0).ok());
}

TEST_CASE("a client that sends files gets its own compile if the leader's needs files") {
  CoordinatorBench bench(IncludesLocal, {.slots = 1});
  bench.files.disk->Refuse(kLocal, kClosed);
  bench.compiler.Shut();
  AnsweringCaller sender;
  sender.files = {{kLocal, "one"}};
  Answers without, with;
  bench.coordinator->Start(Request(), kAlice, without.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.coordinator->Start(Request(), {kAlice, sender.exchange}, with.Collect());
  bench.compiler.Open();
  CHECK(without.Wait(1).at(0).error().code == ErrorCode::kFilesNeeded);
  REQUIRE(with.Wait(1).at(0).ok());
}

TEST_CASE("callers without a files view get no results of each other's files") {
  CoordinatorBench bench(IncludesLocal, {.slots = 1});
  bench.files.disk->Refuse(kLocal, kClosed);
  // Occupies the slot, so that both join before the compile.
  bench.compiler.Shut();
  Answers blocked, answers;
  bench.coordinator->Start(MakeRequest("blocker"), kBob, blocked.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  AnsweringCaller one, two;
  one.files = {{kLocal, "one"}};
  two.files = {{kLocal, "two"}};
  for (const auto* caller : {&one, &two}) {
    bench.coordinator->Start(MakeRequest("a"), {kAlice, caller->exchange}, answers.Collect());
  }
  bench.compiler.Open();
  const auto all = answers.Wait(2);
  REQUIRE(all.size() == 2);
  REQUIRE((all[0].ok() && all[1].ok()));
  CHECK(TextOf(*all[0]) != TextOf(*all[1]));
}

// Two builds that join one flight before its compile begins, because another build has the only
// slot.
struct Pair {
  Result<BuildAnswer> first;
  Result<BuildAnswer> second;
};
Pair BuildTogether(const std::shared_ptr<cccl_cache::BuildRequest>& request, const Caller& first,
                   const Caller& second) {
  CoordinatorBench bench(IncludesLocal, {.slots = 1});
  bench.files.disk->Refuse(kLocal, kClosed);
  bench.compiler.Shut();
  Answers ahead;
  Answers firsts;
  Answers seconds;
  bench.coordinator->Start(MakeRequest("another"), kBob, ahead.Collect());
  REQUIRE(bench.compiler.WaitUntilStarted(1));
  bench.coordinator->Start(request, first, firsts.Collect());
  bench.coordinator->Start(request, second, seconds.Collect());
  bench.compiler.Open();
  return {firsts.Wait(1).at(0), seconds.Wait(1).at(0)};
}

TEST_CASE("two callers with the overflow uid never get results of each other's files") {
  const Peer nobody{kOverflowUid, kOverflowUid, {}, 9};
  AnsweringCaller mallory(kOverflowUid);
  mallory.files = {{kLocal, "mallory"}};
  AnsweringCaller victim(kOverflowUid);
  victim.files = {{kLocal, "victim"}};
  const Pair pair = BuildTogether(Request(), {nobody, mallory.exchange}, {nobody, victim.exchange});
  REQUIRE(pair.first.ok());
  REQUIRE(pair.second.ok());
  CHECK(TextOf(*pair.first) == "from mallory");
  CHECK(TextOf(*pair.second) == "from victim");
}

TEST_CASE("a client that sends no files gets no result of files that another caller sent") {
  AnsweringCaller sender;
  sender.files = {{kLocal, "elsewhere"}};
  const Pair pair = BuildTogether(MakeRequest("a"), {kAlice, sender.exchange}, kAlice);
  REQUIRE(pair.first.ok());
  CHECK(TextOf(*pair.first) == "from elsewhere");
  REQUIRE_FALSE(pair.second.ok());
  CHECK(pair.second.error().code == ErrorCode::kFilesNeeded);
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_sent_files_test
