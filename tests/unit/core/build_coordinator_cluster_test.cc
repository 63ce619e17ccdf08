// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/model/compiler.h"
#include "tests/unit/core/coordinator_bench.h"
#include "tests/unit/core/fake_cluster.h"

namespace cccl_cache::daemon::build_coordinator_cluster_test {
namespace {

using testing::Answers;
using testing::CoordinatorBench;
using testing::FakeCluster;
using testing::IncludesLocal;
using testing::kBob;
using testing::MakeRequest;
using testing::SourceAsOutput;
using testing::Succeed;
using testing::TextOf;

/// One node of the cluster, and the answers to its builds.
struct Node {
  explicit Node(FakeCluster& cluster, testing::FakeCompiler::Behaviour behaviour = SourceAsOutput,
                TierName second_tier = TierName::kArena)
      : bench(std::move(behaviour), {.cluster = &cluster, .second_tier = second_tier}) {}
  void Start(const std::string& source, const Peer& peer = testing::kAlice) {
    bench.coordinator->Start(MakeRequest(source), peer, answers.Collect());
  }
  BuildAnswer Answer(size_t number = 0) {
    const auto all = answers.Wait(number + 1);
    REQUIRE(all.size() > number);
    REQUIRE(all[number].ok());
    return *all[number];
  }
  Answers answers;
  CoordinatorBench bench;
};

/// Compiles on another node, which stores the result in the cluster.
void CompileElsewhere(FakeCluster& cluster, const std::string& source,
                      const testing::FakeCompiler::Behaviour& behaviour = SourceAsOutput,
                      const std::string& local = "") {
  Node node(cluster, behaviour);
  if (!local.empty()) node.bench.files.disk->Write("/home/someone/local.h", local);
  node.Start(source);
  cluster.Last().asker.compile();
  CHECK(node.Answer().outcome == Outcome::kBuilt);
}

TEST_CASE("a build that another node compiled is a hit of the remote tier, and then of memory") {
  FakeCluster cluster;
  CompileElsewhere(cluster, "a");
  Node node(cluster);
  node.Start("a");
  CHECK(node.answers.size() == 0);
  CHECK(cluster.Tell(cluster.Last()) == true);
  CHECK(node.Answer().outcome == Outcome::kHit);
  CHECK(node.Answer().tier == TierName::kRemote);
  CHECK(TextOf(node.Answer()) == "a");
  CHECK(node.bench.compiler.started() == 0);
  CHECK(node.bench.Count(Counter::kHitsRemote) == 1);
  CHECK(node.bench.Count(Counter::kMisses) == 0);
  CHECK(node.bench.BuildOne("a").tier == TierName::kMemory);
  CHECK(node.bench.disk.size() == 1);
}

TEST_CASE("an entry of a shelf is kept in memory, and not copied to the disk") {
  FakeCluster cluster;
  CompileElsewhere(cluster, "a");
  cluster.tier = TierName::kShelf;
  Node node(cluster, SourceAsOutput, TierName::kDisk);
  node.Start("a");
  cluster.Tell(cluster.Last());
  CHECK(node.Answer().tier == TierName::kShelf);
  CHECK(node.bench.Count(Counter::kHitsShelf) == 1);
  CHECK(node.bench.BuildOne("a").tier == TierName::kMemory);
  CHECK(node.bench.disk.size() == 0);
}

TEST_CASE("all builds of one key wait for one query to the cluster") {
  FakeCluster cluster;
  CompileElsewhere(cluster, "a");
  Node node(cluster);
  node.Start("a");
  node.Start("a", kBob);
  CHECK(cluster.asked() == 1);
  cluster.Tell(cluster.Last());
  CHECK(node.Answer(0).tier == TierName::kRemote);
  CHECK(node.Answer(1).tier == TierName::kRemote);
}

TEST_CASE("a compile begins after the cluster's answer, and counts as each caller's miss") {
  FakeCluster cluster;
  Node node(cluster);
  node.Start("a");
  node.Start("a", kBob);
  CHECK(node.bench.compiler.started() == 0);
  CHECK(node.bench.Count(Counter::kMisses) == 0);
  cluster.Last().asker.compile();
  CHECK(node.Answer(0).outcome == Outcome::kBuilt);
  CHECK(node.Answer(1).outcome == Outcome::kJoined);
  CHECK(node.bench.compiler.started() == 1);
  CHECK(node.bench.Count(Counter::kMisses) == 2);
  CHECK(cluster.Last().ended.stop_requested());
}

TEST_CASE("a build does not wait for a cluster that can't be reached") {
  FakeCluster cluster;
  cluster.reachable = false;
  Node node(cluster);
  CHECK(node.bench.BuildOne("a").outcome == Outcome::kBuilt);
  CHECK(node.bench.Count(Counter::kMisses) == 1);
}

TEST_CASE("a matching entry of the cluster cancels a running compile") {
  FakeCluster cluster;
  CompileElsewhere(cluster, "a");
  Node node(cluster);
  node.bench.compiler.Shut();
  node.Start("a");
  cluster.Last().asker.compile();
  REQUIRE(node.bench.compiler.WaitUntilStarted(1));
  CHECK(cluster.Tell(cluster.Last()) == true);
  CHECK(node.Answer().tier == TierName::kRemote);
  CHECK(node.bench.compiler.WaitUntilCancelled(1));
}

TEST_CASE("a build that reads user headers is found in the cluster with two queries") {
  FakeCluster cluster;
  CompileElsewhere(cluster, "a", IncludesLocal, "one");
  Node node(cluster, IncludesLocal);
  node.bench.files.disk->Write("/home/someone/local.h", "one");
  node.Start("a");
  CHECK(cluster.Last().question.entries.size() == 2);
  CHECK(cluster.Tell(cluster.Last()) == true);
  CHECK(cluster.Last(2).question.entries.size() == 1);
  CHECK(cluster.Tell(cluster.Last(2)) == true);
  CHECK(node.Answer().tier == TierName::kRemote);
  CHECK(TextOf(node.Answer()) == "from one");
  CHECK(node.bench.compiler.started() == 0);
}

TEST_CASE("poisoned_manifest: a manifest without a matching closure leads to a compile") {
  FakeCluster cluster;
  CompileElsewhere(cluster, "a", IncludesLocal, "one");
  Node node(cluster, IncludesLocal);
  node.bench.files.disk->Write("/home/someone/local.h", "two");
  node.Start("a");
  CHECK(cluster.Tell(cluster.Last()) == true);
  CHECK(cluster.Tell(cluster.Last(2)) == false);  // the same manifest adds no closure
  CHECK(node.bench.compiler.started() == 0);
  cluster.Last(2).asker.compile();
  CHECK(node.Answer().outcome == Outcome::kBuilt);
  CHECK(TextOf(node.Answer()) == "from two");
}

TEST_CASE("a manifest without a matching closure does not cancel a running compile") {
  FakeCluster cluster;
  CompileElsewhere(cluster, "a", IncludesLocal, "one");
  Node node(cluster, IncludesLocal);
  node.bench.files.disk->Write("/home/someone/local.h", "two");
  node.bench.compiler.Shut();
  node.Start("a");
  cluster.Last().asker.compile();
  REQUIRE(node.bench.compiler.WaitUntilStarted(1));
  CHECK(cluster.Tell(cluster.Last()) == false);
  node.bench.compiler.Open();
  CHECK(TextOf(node.Answer()) == "from two");
}

TEST_CASE("a manifest in the cluster names no user of the node that compiled") {
  FakeCluster cluster;
  CompileElsewhere(cluster, "a", IncludesLocal, "one");
  REQUIRE(cluster.entries().size() == 2);
  size_t manifests = 0;
  for (const auto& [key, entry] : cluster.entries()) {
    if (entry.manifest == nullptr) continue;
    ++manifests;
    for (const KnownClosure& known : entry.manifest->closures) CHECK(known.owner == std::nullopt);
  }
  CHECK(manifests == 1);
}

TEST_CASE("other nodes learn that a compile depends on files of one user") {
  FakeCluster cluster;
  CompileElsewhere(cluster, "a", IncludesLocal, "one");
  REQUIRE(cluster.outside.size() == 1);
  CHECK(cluster.outside.begin()->second == testing::kAlice.uid);
}

TEST_CASE("a uid that a node assigned to a container user stays on that node") {
  const Peer contained{.uid = kFirstContainerUser};
  FakeCluster cluster;
  Node there(cluster, IncludesLocal);
  there.bench.files.disk->Write("/home/someone/local.h", "one");
  there.Start("a", contained);
  cluster.Last().asker.compile();
  CHECK(there.Answer().outcome == Outcome::kBuilt);
  REQUIRE(cluster.outside.size() == 1);
  CHECK(cluster.outside.begin()->second == kOverflowUid);
  // If another node sends such a uid, it blocks no container on this node.
  Node here(cluster);
  here.Start("b", contained);
  const FakeCluster::Asked first = cluster.Last(2);
  first.asker.looks_outside(contained.uid);
  const FakeCluster::Asked alone = cluster.Last(3);
  CHECK(alone.question.compile != first.question.compile);
  alone.asker.compile();
  CHECK(here.Answer().outcome == Outcome::kBuilt);
}

TEST_CASE("no user waits for another node's compile that depends on another user's files") {
  FakeCluster cluster;
  Node node(cluster);
  node.Start("a");
  node.Start("a", kBob);
  const FakeCluster::Asked first = cluster.Last();
  first.asker.looks_outside(testing::kAlice.uid);
  const FakeCluster::Asked bobs = cluster.Last(2);
  CHECK(bobs.question.compile != first.question.compile);
  CHECK_FALSE(first.ended.stop_requested());
  bobs.asker.compile();
  CHECK(node.Answer().outcome == Outcome::kBuilt);
  CHECK(node.bench.compiler.started() == 1);
  first.asker.compile();
  CHECK(node.Answer(1).outcome == Outcome::kBuilt);
}

TEST_CASE("a query to the cluster ends when its caller leaves") {
  FakeCluster cluster;
  Node node(cluster);
  const auto ticket =
      node.bench.coordinator->Start(MakeRequest("a"), testing::kAlice, node.answers.Collect());
  CHECK_FALSE(cluster.Last().ended.stop_requested());
  node.bench.coordinator->Leave(ticket);
  CHECK(cluster.Last().ended.stop_requested());
  cluster.Last().asker.compile();
  CHECK(node.bench.compiler.started() == 0);
}

Explanation Explain(Node& node, const std::string& source) {
  std::promise<Result<Explanation>> promise;
  auto answer = promise.get_future();
  node.bench.coordinator->Explain(
      MakeRequest(source), testing::kAlice,
      [&](Result<Explanation> explained) { promise.set_value(std::move(explained)); });
  REQUIRE(answer.wait_for(testing::kPatience) == std::future_status::ready);
  const Result<Explanation> explained = answer.get();
  REQUIRE(explained.ok());
  return *explained;
}

std::vector<std::pair<TierName, TierFinding>> TiersOf(const Explanation& explanation) {
  std::vector<std::pair<TierName, TierFinding>> tiers;
  for (const TierLook& look : explanation.tiers) tiers.emplace_back(look.tier, look.finding);
  return tiers;
}

using Tiers = std::vector<std::pair<TierName, TierFinding>>;

TEST_CASE("Explain reports an entry of other nodes as a remote hit, and copies nothing") {
  FakeCluster cluster;
  CompileElsewhere(cluster, "a");
  Node node(cluster);
  for (int i = 0; i < 2; ++i) {
    const Explanation explanation = Explain(node, "a");
    CHECK(explanation.verdict == Verdict::kHit);
    CHECK(explanation.tier == TierName::kRemote);
    CHECK(TiersOf(explanation) == Tiers{{TierName::kMemory, TierFinding::kNoEntry},
                                        {node.bench.disk.name(), TierFinding::kNoEntry},
                                        {TierName::kRemote, TierFinding::kHasIt}});
  }
  CHECK(node.bench.disk.size() == 0);
  CHECK(cluster.asked() == 0);
}

TEST_CASE("Explain finds a remote entry that was compiled under the real paths") {
  const auto shows_path = [](const CompileJob& job, int call) -> Result<CompileOutput> {
    if (const auto output = IncludesLocal(job, call); !output) return output.error();
    return Succeed(job.program_name + " in " + job.visible_working_directory);
  };
  FakeCluster cluster;
  Node there(cluster, shows_path);
  there.bench.files.disk->Write("/home/someone/local.h", "plain");
  there.Start("a");
  cluster.Last().asker.compile();
  cluster.Last(2).asker.compile();
  CHECK(there.Answer().outcome == Outcome::kBuilt);
  Node here(cluster, shows_path);
  here.bench.files.disk->Write("/home/someone/local.h", "plain");
  const Explanation explanation = Explain(here, "a");
  CHECK(explanation.verdict == Verdict::kHit);
  CHECK(explanation.tier == TierName::kRemote);
}

TEST_CASE("Explain compares a remote closure with the headers on this node") {
  FakeCluster cluster;
  CompileElsewhere(cluster, "a", IncludesLocal, "one");
  Node node(cluster, IncludesLocal);
  node.bench.files.disk->Write("/home/someone/local.h", "one");
  CHECK(Explain(node, "a").tier == TierName::kRemote);
  node.bench.files.disk->Write("/home/someone/local.h", "two");
  const Explanation explanation = Explain(node, "a");
  CHECK(explanation.verdict == Verdict::kNeverSeen);
  CHECK(TiersOf(explanation).back() == std::pair(TierName::kRemote, TierFinding::kNoEntry));
}

TEST_CASE("Explain reports each tier's finding, or why a tier was not asked") {
  FakeCluster cluster;
  Node node(cluster);
  CHECK(TiersOf(Explain(node, "a")) == Tiers{{TierName::kMemory, TierFinding::kNoEntry},
                                             {node.bench.disk.name(), TierFinding::kNoEntry},
                                             {TierName::kRemote, TierFinding::kNoEntry}});
  cluster.reachable = false;
  const Explanation unreachable = Explain(node, "a");
  CHECK(unreachable.tiers.back().finding == TierFinding::kNotConnected);
  CHECK(unreachable.tiers.back().reason == "unplugged");
  CHECK(node.bench.BuildOne("a").outcome == Outcome::kBuilt);
  CHECK(TiersOf(Explain(node, "a")) == Tiers{{TierName::kMemory, TierFinding::kHasIt}});
}

}  // namespace
}  // namespace cccl_cache::daemon::build_coordinator_cluster_test
