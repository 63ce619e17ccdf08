// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/explain/explainer.h"

#include <array>
#include <catch2/catch.hpp>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "daemon/core/model/compiler.h"
#include "tests/unit/core/coordinator_bench.h"
#include "tests/unit/snapshot/fake_answered.h"

namespace cccl_cache::daemon::explainer_test {
namespace {

using cccl_cache::Sha256;
using testing::CoordinatorBench;
using testing::Fail;
using testing::kAlice;
using testing::kBob;
using testing::kPatience;
using testing::MakeRequest;
using testing::SourceAsOutput;
using testing::Succeed;

// Compiles a program that includes "local.h" beside it. The output is the program's source.
Result<CompileOutput> IncludesLocal(const CompileJob& job, int call) {
  const std::string directory = job.program_name.starts_with('/')
                                    ? job.program_name.substr(0, job.program_name.rfind('/'))
                                    : job.visible_working_directory;
  if (const auto local = job.files->Ask(directory + "/local.h"); !local) return local.error();
  return SourceAsOutput(job, call);
}

Result<Explanation> Ask(CoordinatorBench& bench,
                        std::shared_ptr<const cccl_cache::BuildRequest> request,
                        const Peer& peer = kAlice) {
  std::promise<Result<Explanation>> promise;
  auto answer = promise.get_future();
  bench.coordinator->Explain(std::move(request), peer, [&](Result<Explanation> result) {
    promise.set_value(std::move(result));
  });
  REQUIRE(answer.wait_for(kPatience) == std::future_status::ready);
  return answer.get();
}

Explanation Explain(CoordinatorBench& bench,
                    std::shared_ptr<const cccl_cache::BuildRequest> request,
                    const Peer& peer = kAlice) {
  auto answer = Ask(bench, std::move(request), peer);
  REQUIRE(answer.ok());
  return *answer;
}

Explanation Explain(CoordinatorBench& bench, const std::string& source, const Peer& peer = kAlice) {
  return Explain(bench, MakeRequest(source), peer);
}

// ExplainKey reads the disk, so the answer must come on another thread: the caller's thread may be
// gRPC's.
Result<Explanation> AskKey(CoordinatorBench& bench, const cccl_cache::DigestPrefix& key,
                           const Peer& peer) {
  std::promise<Result<Explanation>> promise;
  auto answer = promise.get_future();
  std::thread::id answered_by;
  bench.coordinator->ExplainKey(key, peer, [&](Result<Explanation> result) {
    answered_by = std::this_thread::get_id();
    promise.set_value(std::move(result));
  });
  REQUIRE(answer.wait_for(kPatience) == std::future_status::ready);
  CHECK(answered_by != std::this_thread::get_id());
  return answer.get();
}

Explanation ExplainKey(CoordinatorBench& bench, const cccl_cache::DigestPrefix& key,
                       const Peer& peer = kAlice) {
  const auto result = AskKey(bench, key, peer);
  REQUIRE(result.ok());
  return *result;
}

std::shared_ptr<cccl_cache::BuildRequest> WithOption(const std::string& option) {
  auto request = MakeRequest("a");
  std::get<cccl_cache::NvrtcProgram>(request->program).options.push_back(option);
  return request;
}

void Forget(CoordinatorBench& bench) {
  bench.memory.Clear();
  bench.disk.Clear();
}

TEST_CASE("Explain reports a program as never seen, then as a hit, and compiles nothing") {
  CoordinatorBench bench(SourceAsOutput);
  CHECK(Explain(bench, "a").verdict == Verdict::kNeverSeen);
  bench.BuildOne("a");
  const Explanation hit = Explain(bench, "a");
  CHECK(hit.verdict == Verdict::kHit);
  CHECK(hit.tier == TierName::kMemory);
  CHECK(bench.compiler.started() == 1);
}

TEST_CASE("a different option is reported with the nearest build") {
  CoordinatorBench bench(SourceAsOutput);
  const BuildAnswer first = bench.BuildOne("a");
  const Explanation before = Explain(bench, WithOption("-lineinfo"));
  CHECK(before.verdict == Verdict::kDiffers);
  REQUIRE(before.nearest);
  CHECK(before.nearest->key == first.key);
  CHECK(before.differences ==
        std::vector<Difference>{
            {DifferenceField::kOption, "--generate-line-info", "", "--generate-line-info"}});

  const auto second = bench.Ask(WithOption("-lineinfo"));
  REQUIRE(second.ok());
  const Explanation after = ExplainKey(bench, second->key);
  CHECK(after.verdict == Verdict::kDiffers);
  CHECK(after.nearest->key == first.key);
  CHECK(after.differences == before.differences);
  CHECK(after.tier == TierName::kMemory);
  // The later build does not explain the earlier one.
  const Explanation earlier = ExplainKey(bench, first.key);
  CHECK(earlier.verdict == Verdict::kNeverSeen);
  CHECK(earlier.since == before.nearest->time);
  CHECK(after.since >= earlier.since);
  CHECK_FALSE(before.since);
}

TEST_CASE("a build in a copied directory differs by its path, and the reason names the option") {
  CoordinatorBench bench(SourceAsOutput);
  bench.BuildOne("a");
  const auto twin = bench.Ask(WithOption("-lineinfo"));
  REQUIRE(twin.ok());
  auto copy = WithOption("-lineinfo");
  const std::string original = copy->working_directory;
  copy->working_directory = "/home/copy";
  const Explanation before = Explain(bench, copy);
  REQUIRE(bench.Ask(copy).ok());
  for (const Explanation& told : {before, ExplainKey(bench, bench.Ask(copy)->key)}) {
    REQUIRE(told.nearest);
    CHECK(told.nearest->key == twin->key);
    CHECK(told.differences ==
          std::vector<Difference>{
              {DifferenceField::kDirectory, "the working directory", original, "/home/copy"}});
    CHECK(told.reason.find("by --generate-line-info") != std::string::npos);
  }
}

TEST_CASE("a different source is reported with both numbers of lines") {
  CoordinatorBench bench(SourceAsOutput);
  bench.BuildOne("a\nb\n");
  const Explanation explanation = Explain(bench, "a\nb\nc");
  REQUIRE(explanation.differences.size() == 1);
  CHECK(explanation.differences[0] == Difference{DifferenceField::kSource, "kernel.cu",
                                                 Sha256("a\nb\n").Hex(), Sha256("a\nb\nc").Hex(), 2,
                                                 3});
}

TEST_CASE(
    "an edited header is reported with its path and both digests, before and after the build") {
  CoordinatorBench bench(IncludesLocal);
  bench.files.disk->Write("/home/someone/local.h", "one");
  bench.BuildOne("a");
  CHECK(Explain(bench, "a").verdict == Verdict::kHit);
  bench.files.disk->Write("/home/someone/local.h", "two");
  const std::vector<Difference> expected = {
      {DifferenceField::kHeader, "local.h", Sha256("one").Hex(), Sha256("two").Hex()}};
  const Explanation before = Explain(bench, "a");
  CHECK(before.verdict == Verdict::kDiffers);
  CHECK(before.differences == expected);
  const BuildAnswer rebuilt = bench.BuildOne("a");
  const Explanation after = ExplainKey(bench, rebuilt.key);
  CHECK(after.verdict == Verdict::kDiffers);
  CHECK(after.differences == expected);
  bench.files.disk->Remove("/home/someone/local.h");
  REQUIRE(Explain(bench, "a").differences.size() == 1);
  CHECK(Explain(bench, "a").differences[0].is == "absent");
}

TEST_CASE("a user learns nothing of other users' builds") {
  CoordinatorBench bench(IncludesLocal);
  bench.files.disk->Write("/home/someone/local.h", "one");
  const BuildAnswer built = bench.BuildOne("a");
  CHECK(ExplainKey(bench, built.key, kBob).verdict == Verdict::kUnknownKey);
  bench.files.disk->Write("/home/someone/local.h", "two");
  const Explanation other = Explain(bench, "a", kBob);
  CHECK(other.verdict == Verdict::kNeverSeen);
  CHECK(other.differences.empty());
  CHECK_FALSE(other.nearest);
}

TEST_CASE("a dropped entry is reported with the time and the cause") {
  CoordinatorBench bench(SourceAsOutput);
  const BuildAnswer built = bench.BuildOne("a");
  Forget(bench);
  CHECK(Explain(bench, "a").verdict == Verdict::kNotKept);
  const auto [cause, verdict] = GENERATE(
      table<EvictionCause, Verdict>({{EvictionCause::kEvicted, Verdict::kEvicted},
                                     {EvictionCause::kCorrupt, Verdict::kCorrupt},
                                     {EvictionCause::kShadowCheck, Verdict::kShadowCheck}}));
  bench.eviction_log.Note(built.key, cause);
  const Explanation explanation = Explain(bench, "a");
  CHECK(explanation.verdict == verdict);
  REQUIRE(explanation.since);
  CHECK(*explanation.since == bench.eviction_log.Find(built.key)->time);
  CHECK(ExplainKey(bench, built.key).verdict == verdict);
  bench.BuildOne("a");
  CHECK(Explain(bench, "a").verdict == Verdict::kHit);
  CHECK(ExplainKey(bench, built.key).verdict == verdict);  // why it was compiled again
}

TEST_CASE("an evicted artifact or manifest of a build with files is reported") {
  CoordinatorBench bench(IncludesLocal);
  bench.files.disk->Write("/home/someone/local.h", "one");
  const BuildAnswer built = bench.BuildOne("a");
  const auto gone = GENERATE(true, false);
  const cccl_cache::Digest key = gone ? built.key : ManifestKey(built.fingerprint);
  bench.memory.Remove(key);
  bench.disk.Remove(key);
  bench.eviction_log.Note(key, EvictionCause::kEvicted);
  CHECK(Explain(bench, "a").verdict == Verdict::kEvicted);
}

TEST_CASE("an uncacheable build is reported with the reason in the request or a file") {
  CoordinatorBench bench(IncludesLocal);
  const Explanation by_request = Explain(bench, "const char* t = __TIME__;");
  CHECK(by_request.verdict == Verdict::kUncacheable);
  CHECK(by_request.reason.find("__TIME__") != std::string::npos);

  bench.files.disk->Write("/home/someone/local.h", "const char* t = __TIME__;");
  const BuildAnswer built = bench.BuildOne("a");
  for (const Explanation& explanation : {Explain(bench, "a"), ExplainKey(bench, built.key)}) {
    CHECK(explanation.verdict == Verdict::kUncacheable);
    CHECK(explanation.reason.find("local.h") != std::string::npos);
  }
  bench.files.disk->Write("/home/someone/local.h", "one");
  CHECK(Explain(bench, "a").verdict == Verdict::kNeverSeen);
}

TEST_CASE("a program that does not compile is reported as failed") {
  CoordinatorBench bench(
      [](const CompileJob&, int) -> Result<CompileOutput> { return Fail("error"); });
  const BuildAnswer failed = bench.BuildOne("a");
  CHECK(Explain(bench, "a").verdict == Verdict::kFailed);
  CHECK(ExplainKey(bench, failed.key).verdict == Verdict::kFailed);
  CHECK(Explain(bench, "b").verdict == Verdict::kNeverSeen);
}

TEST_CASE("a quarantined program is reported while its files are unchanged") {
  CoordinatorBench bench([](const CompileJob& job, int call) -> Result<CompileOutput> {
    const auto output = IncludesLocal(job, call);
    if (!output) return output.error();
    return Error{.code = ErrorCode::kWorkerCrashed, .message = "it died", .own_signal = true};
  });
  bench.files.disk->Write("/home/someone/local.h", "one");
  CHECK_FALSE(bench.Ask(MakeRequest("a")).ok());
  const Explanation died = Explain(bench, "a");
  CHECK(died.verdict == Verdict::kFailed);
  CHECK(died.reason == "it died");
  bench.files.disk->Write("/home/someone/local.h", "two");
  CHECK(Explain(bench, "a").verdict == Verdict::kNeverSeen);
}

TEST_CASE("an entry dropped by a shadow check is reported") {
  CoordinatorBench bench(
      [](const CompileJob&, int call) { return Succeed(call == 1 ? "one" : "two"); },
      {.shadow_check_every = 1});
  const BuildAnswer built = bench.BuildOne("a");
  bench.BuildOne("a");
  REQUIRE(bench.memory.WaitUntilEmpty());
  REQUIRE(bench.disk.WaitUntilEmpty());
  bench.compiler.WaitUntilStarted(2);
  CHECK(Explain(bench, "a").verdict == Verdict::kShadowCheck);
  CHECK(ExplainKey(bench, built.key).verdict == Verdict::kShadowCheck);
}

TEST_CASE("ExplainKey reports an entry's state to a user that received it but did not compile it") {
  testing::FakeAnswered answered;
  CoordinatorBench bench(SourceAsOutput, {.answered = &answered});
  const BuildAnswer built = bench.BuildOne("a", kAlice);
  CHECK(ExplainKey(bench, built.key, kBob).verdict == Verdict::kUnknownKey);
  REQUIRE(bench.BuildOne("a", kBob).outcome == Outcome::kHit);

  const Explanation hit = ExplainKey(bench, built.key, kBob);
  CHECK(hit.verdict == Verdict::kHit);
  CHECK(hit.tier == TierName::kMemory);
  CHECK(hit.reason.find("can't be compared") != std::string::npos);
  CHECK(hit.reason.find("came with a snapshot") != std::string::npos);
  CHECK_FALSE(hit.nearest);
  Forget(bench);
  const Explanation gone = ExplainKey(bench, built.key, kBob);
  CHECK(gone.verdict == Verdict::kNotKept);
  CHECK_FALSE(gone.reason.empty());
  bench.eviction_log.Note(built.key, EvictionCause::kEvicted);
  const Explanation evicted = ExplainKey(bench, built.key, kBob);
  CHECK(evicted.verdict == Verdict::kEvicted);
  CHECK(evicted.since);
  CHECK(evicted.tier == TierName::kNone);
  CHECK(ExplainKey(bench, cccl_cache::Sha256("another"), kBob).verdict == Verdict::kUnknownKey);
}

TEST_CASE("the first digits of a key suffice if the user has no other key with them") {
  testing::FakeAnswered answered;
  CoordinatorBench bench(SourceAsOutput, {.answered = &answered});
  const BuildAnswer built = bench.BuildOne("a", kAlice);
  const auto digits = *cccl_cache::DigestPrefix::FromHex(built.key.Hex().substr(0, 12));
  CHECK(ExplainKey(bench, digits, kAlice).verdict == Verdict::kNeverSeen);
  CHECK(ExplainKey(bench, digits, kBob).verdict == Verdict::kUnknownKey);

  AnsweredBuild twin;
  twin.key = built.key;
  twin.key.bytes.back() ^= 1;
  answered.Note(kBob.uid, twin);
  CHECK(ExplainKey(bench, digits, kAlice).verdict == Verdict::kNeverSeen);
  answered.Note(kAlice.uid, twin);
  const auto unclear = AskKey(bench, digits, kAlice);
  REQUIRE_FALSE(unclear.ok());
  CHECK(unclear.error().code == ErrorCode::kInvalidRequest);
  CHECK(unclear.error().message.starts_with("2 keys"));
  CHECK(ExplainKey(bench, built.key, kAlice).verdict == Verdict::kNeverSeen);
}

TEST_CASE("an entry on the disk with a wrong checksum is reported as corrupt, not as a hit") {
  CoordinatorBench bench(SourceAsOutput, {.second_tier = TierName::kDisk});
  const BuildAnswer built = bench.BuildOne("a");
  bench.memory.Clear();
  CHECK(Explain(bench, "a").verdict == Verdict::kHit);
  const auto by_key = GENERATE(false, true);
  bench.disk.during_get = [&] {  // like RocksdbStore when it drops a broken entry
    if (!bench.disk.Holds(built.key)) return;
    bench.disk.Remove(built.key);
    bench.eviction_log.Note(built.key, EvictionCause::kCorrupt);
  };
  const Explanation explanation = by_key ? ExplainKey(bench, built.key) : Explain(bench, "a");
  CHECK(explanation.verdict == Verdict::kCorrupt);
  CHECK(explanation.tier == TierName::kNone);
  CHECK(explanation.since);
}

TEST_CASE("Explain returns the error of a request that can't be planned") {
  CoordinatorBench bench(SourceAsOutput);
  auto request = MakeRequest("a");
  request->toolchain.major = 99;
  const auto answer = Ask(bench, request);
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code == ErrorCode::kToolchainNotFound);
}

TEST_CASE("Explain waits for a toolchain that is being identified") {
  CoordinatorBench bench(SourceAsOutput);
  bench.toolchains.NeedLooks(1);
  std::promise<Result<Explanation>> promise;
  auto answer = promise.get_future();
  bench.coordinator->Explain(MakeRequest("a"), kAlice, [&](Result<Explanation> result) {
    promise.set_value(std::move(result));
  });
  CHECK(answer.wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
  CHECK(bench.toolchains.FinishLook() == 1);
  REQUIRE(answer.wait_for(kPatience) == std::future_status::ready);
  CHECK(answer.get()->verdict == Verdict::kNeverSeen);
}

TEST_CASE("a waiting Explain call gets an error when the coordinator ends") {
  CoordinatorBench bench(SourceAsOutput);
  bench.toolchains.NeedLooks(1);
  std::optional<Result<Explanation>> answer;
  bench.coordinator->Explain(MakeRequest("a"), kAlice,
                             [&](Result<Explanation> result) { answer = std::move(result); });
  CHECK_FALSE(answer);
  bench.Stop();
  REQUIRE(answer);
  CHECK((*answer).error().code == ErrorCode::kUnavailable);
}

TEST_CASE("an Explain call whose caller has left is dropped, and does not delay Drain") {
  CoordinatorBench bench(SourceAsOutput);
  bench.toolchains.NeedLooks(1);
  bool answered = false;
  const auto ticket = bench.coordinator->Explain(
      MakeRequest("a"), kAlice, [&](const Result<Explanation>&) { answered = true; });
  bench.coordinator->Leave(ticket);
  bench.coordinator->Drain(kPatience);
  CHECK(bench.toolchains.FinishLook() == 1);
  CHECK_FALSE(answered);
  CHECK(bench.Count(Counter::kCancelled) == 0);
}

TEST_CASE("an explain request counts as no build, no hit and no miss") {
  CoordinatorBench bench(SourceAsOutput);
  bench.BuildOne("a");
  const auto counts = [&] {
    return std::array{bench.Count(Counter::kBuilds), bench.Count(Counter::kHitsMemory),
                      bench.Count(Counter::kMisses), bench.Count(Counter::kRefused)};
  };
  const auto before = counts();
  CHECK(Explain(bench, "a").verdict == Verdict::kHit);
  CHECK(Explain(bench, "b").verdict != Verdict::kHit);
  auto request = MakeRequest("a");
  request->toolchain.major = 99;
  CHECK_FALSE(Ask(bench, request).ok());
  CHECK(counts() == before);
}

TEST_CASE("without other nodes Explain reports the remote tier as not configured") {
  CoordinatorBench bench(SourceAsOutput);
  CHECK(Explain(bench, "a").tiers.back().tier == TierName::kRemote);
  CHECK(Explain(bench, "a").tiers.back().finding == TierFinding::kNotConfigured);
}

}  // namespace
}  // namespace cccl_cache::daemon::explainer_test
