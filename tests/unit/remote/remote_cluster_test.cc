// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/remote_cluster.h"

#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/lookup/manifest.h"
#include "daemon/remote/signed_entry.h"
#include "daemon/remote/signed_lease.h"
#include "tests/support/wait_until.h"
#include "tests/unit/remote/fake_redis.h"

namespace remote_cluster_test {

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;
using cccl_cache::Digest;
using cccl_cache::Sha256;
using cccl_cache::SigningKey;
using Texts = std::vector<std::string>;

const Digest kCompile = Sha256("compile");
const EntryName kArtifact{EntryKind::kArtifact, Sha256("key"), Sha256("toolchain")};
const EntryName kManifest{EntryKind::kManifest, Sha256("fingerprint"), Sha256("toolchain")};
const EntryName kDeposit{EntryKind::kDeposit, Sha256("deposit"), {}};
const std::string kDown = "-LOADING Redis is loading the dataset in memory\r\n";
const std::string kNothing = "$0\r\n\r\n";
const std::string kNil = "$-1\r\n";
const std::string kOk = "+OK\r\n";
const std::string kToken(32, 'a');  // of another node

SigningKey Key() { return SigningKey(SigningKey::Seed{1}); }

ArtifactPtr Sample() {
  auto artifact = std::make_shared<Artifact>();
  artifact->log = "log";
  return artifact;
}

std::string Text(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::chrono::sys_seconds Now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// Returns the entry as another node wrote it.
std::string Written() { return Text(*SignEntry(kArtifact, {.artifact = Sample()}, Key(), Now())); }

std::string WrittenDeposit(const std::string& contents) {
  return Text(*SignEntry(kDeposit, {.deposit = std::make_shared<const std::string>(contents)},
                         Key(), Now()));
}

/// Returns the lease on the deposit as another node wrote it.
std::string LeaseOf(const SigningKey& key, uint64_t renewals, const std::string& token = kToken) {
  return Text(*SignLease(kDeposit.key, {token, renewals}, key, Now()));
}

class Scene {
 public:
  /// By default, answers are never late. Leases need no renewal during a test.
  explicit Scene(std::chrono::milliseconds patience = 60s, bool signs = true,
                 std::vector<RedisAddress> more = {}, std::chrono::milliseconds lease = 600s,
                 uint64_t deposit_limit = 8 << 20, std::chrono::milliseconds longest_fetch = 60s)
      : cluster_(Options(patience, signs, std::move(more), lease, deposit_limit, longest_fetch),
                 std::make_shared<const TrustList>(std::set{Key().public_key()}), statistics),
        peer(redis_.Accept()) {
    peer.Greet();
    REQUIRE(WaitUntil([this] { return cluster_.gauges().connected; }));
  }

  RemoteCluster* operator->() { return &cluster_; }
  [[nodiscard]] ClusterGauges gauges() const { return cluster_.gauges(); }

  void Ask(std::vector<EntryName> entries = {kArtifact}, std::chrono::milliseconds longest = 0ms,
           bool takes_lease = true) {
    const Digest compile =
        entries.front().kind == EntryKind::kDeposit ? entries.front().key : kCompile;
    const bool asked = cluster_.Ask(
        {.entries = std::move(entries),
         .compile = compile,
         .takes_lease = takes_lease,
         .since = std::chrono::steady_clock::now(),
         .longest_wait = longest},
        ended.get_token(),
        {.found =
             [this](const Cluster::Found& found) {
               const SharedEntry& entry = found.entries.front();
               said.Add("found " + (entry.deposit ? *entry.deposit : entry.artifact->log));
               return true;
             },
         .compile = [this] { said.Add("compile"); },
         .looks_outside = [this](uid_t uid) { said.Add("files of " + std::to_string(uid)); }});
    REQUIRE(asked);
  }
  /// Asks for the deposit as a caller that only waits for one.
  void Watch(std::chrono::milliseconds longest = 600s) { Ask({kDeposit}, longest, false); }
  /// Notes the value of the answer's TierFinding, then " found" if the answer has an entry, and
  /// " why" if it has a reason.
  void Peek(std::vector<EntryName> entries = {kArtifact}) {
    cluster_.Peek({.entries = std::move(entries)}, [this](const Cluster::Peeked& peeked) {
      const bool found = !peeked.found.empty() && peeked.found[0];
      said.Add(std::to_string(static_cast<int>(peeked.finding)) + (found ? " found" : "") +
               (peeked.reason.empty() ? "" : " why"));
    });
  }
  void Expect(const std::string& begin, const std::string& answer) {
    const std::string command = peer.Next();
    INFO(command);
    CHECK(command.starts_with(begin));
    peer.Send(answer);
  }
  [[nodiscard]] uint64_t Count(Counter counter) const { return statistics.Get(counter); }

  Statistics statistics;
  Said said;
  std::stop_source ended;

 private:
  RemoteCluster::Options Options(std::chrono::milliseconds patience, bool signs,
                                 std::vector<RedisAddress> more, std::chrono::milliseconds lease,
                                 uint64_t deposit_limit, std::chrono::milliseconds longest_fetch) {
    RemoteCluster::Options options;
    options.link.address = redis_.address();
    options.link.connect_timeout = 60s;
    options.more_servers = std::move(more);
    options.link.report = [](std::string_view) {};
    if (signs) options.key = Key();
    options.deposit_limit = deposit_limit;
    options.longest_fetch = longest_fetch;
    options.link.patience = patience;
    options.lease = lease;
    return options;
  }

  FakeRedis redis_;
  RemoteCluster cluster_;

 public:
  FakeConnection peer;
};

const std::string kAsk = "GETRANGE cccl-cached:a:" + kArtifact.key.Hex();
const std::string kAskManifest = "GETRANGE cccl-cached:m:" + kManifest.key.Hex();
const std::string kLease = "cccl-cached:l:" + kCompile.Hex();

TEST_CASE("an entry of another node is found without a lease") {
  Scene scene;
  scene.Ask();
  scene.Expect(kAsk, Written());
  CHECK(scene.said.Await(1) == Texts{"found log"});
}

TEST_CASE("a lease is taken before a compile, and released after the result was written") {
  Scene scene;
  scene.Ask();
  scene.Expect(kAsk, kNothing);
  scene.Expect("SET " + kLease, kOk);
  scene.Expect(kAsk, kNothing);
  CHECK(scene.said.Await(1) == Texts{"compile"});
  scene->Share(kArtifact, {.artifact = Sample()}, Account(1000));
  scene.ended.request_stop();
  scene.Expect("SET cccl-cached:a:", kOk);
  CHECK(scene.peer.Next().find("redis.call('del',KEYS[1])") != std::string::npos);
  CHECK(scene.Count(Counter::kRemoteLeases) == 1);
}

TEST_CASE("the size limit applies to a manifest's encoding, not to its memory") {
  const uint64_t limit = RemoteCluster::Options().entry_limit;
  const auto share = [&](Scene& scene, size_t entries) {
    auto manifest = std::make_shared<Manifest>();
    manifest->closures.resize(1);
    manifest->closures[0].closure.entries.resize(entries, {.kind = FileKind::kFile});
    const SharedEntry entry{.manifest = manifest};
    CHECK(FootprintOf(entry) > limit);
    scene->Share(kManifest, entry, Account(1000));
  };
  Scene scene;
  share(scene, limit / sizeof(ClosureEntry) + 1);
  scene.Expect("SET cccl-cached:m:", kOk);
  CHECK(scene.Count(Counter::kRemoteStayHome) == 0);
  share(scene, limit / sizeof(Digest));
  CHECK(scene.Count(Counter::kRemoteStayHome) == 1);
}

TEST_CASE("a compile begins when an answer is late, and a late answer is still used") {
  Scene scene(1ms);
  scene.Ask();
  CHECK(scene.said.Await(1) == Texts{"compile"});
  scene.Expect(kAsk, Written());
  CHECK(scene.said.Await(2) == Texts{"compile", "found log"});
  CHECK(scene.Count(Counter::kRemoteLate) == 1);
  CHECK(scene.Count(Counter::kRemoteAnswers) == 1);
  CHECK(scene.Count(Counter::kRemoteAnswerMicroseconds) >= 1'000);
}

TEST_CASE("a Redis that refuses to write a lease costs no wait") {
  Scene scene;
  scene.Ask();
  scene.Expect(kAsk, kNothing);
  scene.Expect("SET " + kLease, "-OOM command not allowed\r\n");
  scene.Expect(kAsk, kNothing);
  CHECK(scene.said.Await(1) == Texts{"compile"});
  CHECK(scene.Count(Counter::kRemoteWaits) == 0);
}

TEST_CASE("a node waits while another node holds the lease, and then finds its result") {
  Scene scene;
  scene.Ask();
  scene.Expect(kAsk, kNothing);
  scene.Expect("SET " + kLease, kNil);
  scene.Expect(kAsk, kNothing);
  scene.Expect("GETRANGE " + kLease, Text(kToken));
  scene.Expect("GETRANGE " + kLease, Text("1000:" + kToken));
  CHECK(scene.said.Await(1) == Texts{"files of 1000"});
  scene.Expect("GETRANGE " + kLease, kNothing);
  scene.Expect("SET " + kLease, kNil);
  scene.Expect(kAsk, Written());
  CHECK(scene.said.Await(2) == Texts{"files of 1000", "found log"});
  CHECK(scene.Count(Counter::kRemoteWaits) == 1);
}

TEST_CASE("a node without a signing key compiles as soon as no lease exists") {
  Scene scene(60s, false);
  scene.Ask();
  scene.Expect(kAsk, kNothing);
  scene.Expect("GETRANGE " + kLease, Text(kToken));
  scene.Expect("GETRANGE " + kLease, kNothing);
  scene.Expect(kAsk, kNothing);
  CHECK(scene.said.Await(1) == Texts{"compile"});
}

TEST_CASE("with several servers, entries are requested again after the reply about the lease") {
  // Its host and port equal those of the first server, which thus has all keys.
  RedisAddress nowhere;
  nowhere.path = "/nonexistent/redis";
  Scene scene(60s, true, {nowhere});
  scene.Ask();
  scene.Expect(kAsk, kNothing);
  CHECK(scene.peer.Next().starts_with("SET " + kLease));
  CHECK(scene->gauges().unanswered == 1);
  scene.peer.Send(kNil);
  scene.Expect(kAsk, kNothing);
  scene.Expect("GETRANGE " + kLease, kNothing);
  scene.Expect("SET " + kLease, kOk);
  scene.Expect(kAsk, Written());
  CHECK(scene.said.Await(1) == Texts{"found log"});
}

TEST_CASE("a node acquires the lease even if the manifest's server is down") {
  Scene scene;
  scene.Ask({kArtifact, kManifest});
  scene.Expect(kAsk, kNothing);
  scene.Expect(kAskManifest, kDown);
  scene.Expect("SET " + kLease, kOk);
  scene.Expect(kAsk, kNothing);
  scene.Expect(kAskManifest, kDown);
  CHECK(scene.said.Await(1) == Texts{"compile"});
  CHECK(scene.Count(Counter::kRemoteLeases) == 1);
}

TEST_CASE("a node compiles without a lease if the artifact's server is down") {
  Scene scene;
  scene.Ask({kArtifact, kManifest});
  scene.Expect(kAsk, kDown);
  scene.Expect(kAskManifest, kNothing);
  CHECK(scene.said.Await(1) == Texts{"compile"});
  CHECK(scene.Count(Counter::kRemoteLeases) == 0);
}

TEST_CASE("a node compiles without a lease if the lease's server is down") {
  Scene scene;
  scene.Ask({kArtifact, kManifest});
  scene.Expect(kAsk, kNothing);
  scene.Expect(kAskManifest, kNothing);
  scene.Expect("SET " + kLease, kDown);
  scene.Expect(kAsk, kNothing);
  scene.Expect(kAskManifest, kNothing);
  CHECK(scene.said.Await(1) == Texts{"compile"});
  CHECK(scene.Count(Counter::kRemoteLeases) == 0);
  CHECK(scene.Count(Counter::kRemoteAnswers) == 1);  // the other look lost a reply
}

TEST_CASE("an artifact that is in time is used even if the manifest is late") {
  Scene scene(1s);
  scene.Ask({kArtifact, kManifest});
  scene.Expect(kAsk, Written());
  CHECK(scene.peer.Next().starts_with(kAskManifest));
  CHECK(scene.said.Await(1) == Texts{"found log"});
  CHECK(scene.Count(Counter::kRemoteLate) == 0);
}

TEST_CASE("a node compiles after two holders of the lease have left no result") {
  Scene scene;
  scene.Ask();
  scene.Expect(kAsk, kNothing);
  for (int holder = 0; holder < 2; ++holder) {
    scene.Expect("SET " + kLease, kNil);
    scene.Expect(kAsk, kNothing);
    scene.Expect("GETRANGE " + kLease, Text(kToken));
    scene.Expect("GETRANGE " + kLease, kNothing);
  }
  scene.Expect("SET " + kLease, kNil);
  scene.Expect(kAsk, kNothing);
  CHECK(scene.said.Await(1) == Texts{"compile"});
  CHECK(scene.Count(Counter::kRemoteWaitsInVain) == 0);
}

TEST_CASE("while the manifest's server is down, a node waits for only one holder") {
  Scene scene;
  scene.Ask({kArtifact, kManifest});
  scene.Expect(kAsk, kNothing);
  scene.Expect(kAskManifest, kDown);
  for (int holder = 0; holder < 2; ++holder) {
    scene.Expect("SET " + kLease, kNil);
    scene.Expect(kAsk, kNothing);
    scene.Expect(kAskManifest, kDown);
    if (holder == 0) scene.Expect("GETRANGE " + kLease, kNothing);
  }
  CHECK(scene.said.Await(1) == Texts{"compile"});
}

TEST_CASE("after a lost connection all waiting builds compile") {
  Scene scene;
  scene.Ask();
  CHECK(scene.peer.Next().starts_with(kAsk));
  scene.peer = FakeConnection(-1);
  CHECK(scene.said.Await(1) == Texts{"compile"});
}

const std::string kAskDeposit = "GETRANGE cccl-cached:d:" + kDeposit.key.Hex();
const std::string kDepositLease = "cccl-cached:l:" + kDeposit.key.Hex();

TEST_CASE("fenced: a deposit is written with the token of the lease that this node took") {
  Scene scene;
  scene.Ask({kDeposit}, 600s);
  scene.Expect(kAskDeposit, kNothing);
  const std::string taken = scene.peer.Next();
  CHECK(taken.starts_with("SET " + kDepositLease));
  const size_t end = taken.find(" NX PX");
  REQUIRE(end != std::string::npos);
  const std::string token = taken.substr(end - kLeaseTokenBytes, kLeaseTokenBytes);
  scene.peer.Send(kOk);
  scene.Expect(kAskDeposit, kNothing);
  CHECK(scene.said.Await(1) == Texts{"compile"});
  CHECK(scene->gauges().leases == 1);
  const auto share = [&](bool has_lease) {
    scene->Share(kDeposit, {.deposit = std::make_shared<const std::string>("made")}, Account(1));
    if (!has_lease) {
      scene.Expect("GETRANGE " + kDepositLease, kNothing);
      scene.Expect(kAskDeposit, kNothing);
      scene.Expect("GETRANGE cccl-cached:c:", kNothing);
    }
    const std::string written = scene.peer.Next();
    CHECK(written.starts_with("EVAL "));
    const std::string name = " cccl-cached:d:" + kDeposit.key.Hex();
    const std::string list = " cccl-cached:c:" + kDeposit.key.Hex();
    const std::string keys_of_write = kDepositLease + name + name + list + " ";
    const size_t place = written.find(keys_of_write);
    REQUIRE(place != std::string::npos);
    return written.substr(place + keys_of_write.size());
  };
  CHECK(share(true).starts_with(token + " CCCLSGN"));
  scene.peer.Send(":1\r\n");
  scene.ended.request_stop();
  CHECK(scene.peer.Next().ends_with(kDepositLease + " " + token));
  scene.peer.Send(kNothing);
  REQUIRE(WaitUntil([&] { return scene->gauges().leases == 0; }));
  CHECK(share(false).starts_with(" CCCLSGN"));
  scene.peer.Send(":0\r\n");
  REQUIRE(WaitUntil([&] { return scene.Count(Counter::kRemoteWritesFenced) == 1; }));
  CHECK(scene.Count(Counter::kRemoteWrites) == 1);
  CHECK(scene.Count(Counter::kRemoteWritesFailed) == 0);  // the other node has done the work
}

TEST_CASE("a node waits for a deposit while another node renews its lease") {
  Scene scene;
  scene.Ask({kDeposit}, 600s);
  scene.Expect(kAskDeposit, kNothing);
  scene.Expect("SET " + kDepositLease, kNil);
  scene.Expect(kAskDeposit, kNothing);
  for (const uint64_t renewals : {1, 1, 2, 7}) {
    scene.Expect("GETRANGE " + kDepositLease, LeaseOf(Key(), renewals));
  }
  CHECK(scene.said.all().empty());
  scene.Expect("GETRANGE " + kDepositLease, kNothing);
  scene.Expect("SET " + kDepositLease, kNil);
  scene.Expect(kAskDeposit, WrittenDeposit("made"));
  CHECK(scene.said.Await(1) == Texts{"found made"});
}

/// Answers a node that tries to take the lease and finds neither the lease nor the deposit.
void RefuseLease(Scene& scene) {
  scene.Expect("SET " + kDepositLease, kNil);
  scene.Expect(kAskDeposit, kNothing);
}

TEST_CASE("a lease that no trusted node signed makes no node wait for a deposit") {
  for (const std::string& value :
       {Text(kToken), LeaseOf(SigningKey(SigningKey::Seed{2}), 1),
        Text(*SignLease(Sha256("another deposit"), {kToken, 1}, Key(), Now())),
        Text(*SignLease(kDeposit.key, {kToken, 1}, Key(), Now() - 1h))}) {
    Scene scene;
    scene.Ask({kDeposit}, 600s);
    scene.Expect(kAskDeposit, kNothing);
    RefuseLease(scene);
    for (int look = 0; look < 2; ++look) {
      scene.Expect("GETRANGE " + kDepositLease, value);
      RefuseLease(scene);
    }
    CHECK(scene.said.Await(1) == Texts{"compile"});
  }
}

TEST_CASE("a lease that repeats an earlier value makes no node wait for a deposit") {
  const auto repeat = [](std::chrono::milliseconds lease, uint64_t renewals) {
    Scene scene(60s, true, {}, lease);
    scene.Ask({kDeposit}, 600s);
    scene.Expect(kAskDeposit, kNothing);
    RefuseLease(scene);
    scene.Expect("GETRANGE " + kDepositLease, LeaseOf(Key(), 9));
    for (int look = 0; look < 2; ++look) {
      scene.Expect("GETRANGE " + kDepositLease, LeaseOf(Key(), renewals));
      RefuseLease(scene);
    }
    CHECK(scene.said.Await(1) == Texts{"compile"});
  };
  repeat(600s, 8);
  repeat(1ms, 9);
}

TEST_CASE("a node waits for a deposit no longer than it may") {
  Scene scene;
  scene.Ask({kDeposit}, 0ms);
  scene.Expect(kAskDeposit, kNothing);
  RefuseLease(scene);
  CHECK(scene.said.Await(1) == Texts{"compile"});
  CHECK(scene.Count(Counter::kRemoteWaitsInVain) == 1);
}

TEST_CASE("a caller that only waits does so while other nodes hold the lease, and takes none") {
  Scene scene;
  scene.Watch();
  scene.Expect(kAskDeposit, kNothing);
  scene.Expect("GETRANGE " + kDepositLease, kNothing);
  CHECK(scene.said.Await(1) == Texts{"compile"});
  scene.Watch();
  scene.Expect(kAskDeposit, kNothing);
  scene.Expect("GETRANGE " + kDepositLease, LeaseOf(Key(), 1));
  scene.Expect("GETRANGE " + kDepositLease, kNothing);
  scene.Expect(kAskDeposit, kNothing);
  scene.Expect("GETRANGE " + kDepositLease, LeaseOf(Key(), 0, std::string(32, 'b')));
  scene.Expect("GETRANGE " + kDepositLease, kNothing);
  scene.Expect(kAskDeposit, WrittenDeposit("made"));
  CHECK(scene.said.Await(2).back() == "found made");
  CHECK(scene.Count(Counter::kRemoteWaits) == 1);
  CHECK(scene->gauges().leases == 0);
}

TEST_CASE("waits of callers that only wait, and end them, ignore no leases") {
  Scene scene;
  for (size_t wait = 1; wait <= 4; ++wait) {
    scene.Watch(0ms);
    scene.Expect(kAskDeposit, kNothing);
    scene.Expect("GETRANGE " + kDepositLease, LeaseOf(Key(), 1));
    CHECK(scene.said.Await(wait).size() == wait);
  }
  CHECK(scene.Count(Counter::kRemoteWaitsInVain) == 0);
}

TEST_CASE("a large deposit is fetched chunk by chunk, and a wrong chunk is a miss") {
  const std::string deposit = std::string(kDepositChunkBytes, 'a') + "end";
  const std::string first = *StoreChunk(deposit, 0);
  const std::string second = *StoreChunk(deposit, 1);
  const auto encoded = std::make_shared<const std::string>(
      EncodeChunkList({.size = deposit.size(), .chunks = {Sha256(first), Sha256(second)}}));
  const EntryName name{EntryKind::kChunkList, kDeposit.key, {}};
  const std::string list = Text(*SignEntry(name, {.deposit = encoded}, Key(), Now()));
  const std::string ask_list = "GETRANGE cccl-cached:c:" + kDeposit.key.Hex();
  Scene scene(60s, true, {}, 600s, 16 << 20);
  const auto find_list = [&] {
    scene.Expect(kAskDeposit, kNothing);
    scene.Expect(ask_list + " ", list);
    scene.Expect(ask_list + ":0 ", Text(first));
  };
  scene.Ask({kDeposit}, 600s);
  find_list();
  scene.Expect(ask_list + ":1 ", Text(second));
  CHECK((scene.said.Await(1).back() == "found " + deposit));
  scene.Watch();
  find_list();
  scene.Expect(ask_list + ":1 ", Text(second));
  CHECK((scene.said.Await(2).back() == "found " + deposit));
  scene.Watch();
  find_list();
  scene.Expect(ask_list + ":1 ", Text(first));
  scene.Expect("GETRANGE " + kDepositLease, kNothing);
  CHECK(scene.said.Await(3).back() == "compile");
  scene.Watch();
  find_list();
  scene.Expect(ask_list + ":1 ", kNothing);
  scene.Expect("GETRANGE " + kDepositLease, kNothing);
  CHECK(scene.said.Await(4).back() == "compile");
  CHECK(scene.Count(Counter::kRemoteCorrupt) == 1);
}

TEST_CASE("a deposit whose chunks take too long is a miss") {
  const auto encoded = std::make_shared<const std::string>(
      EncodeChunkList({.size = 1, .chunks = {Sha256("chunk")}}));
  const EntryName name{EntryKind::kChunkList, kDeposit.key, {}};
  Scene scene(60s, true, {}, 600s, 16 << 20, 0ms);
  scene.Watch();
  scene.Expect(kAskDeposit, kNothing);
  scene.Expect("GETRANGE cccl-cached:c:" + kDeposit.key.Hex(),
               Text(*SignEntry(name, {.deposit = encoded}, Key(), Now())));
  scene.Expect("GETRANGE " + kDepositLease, kNothing);
  CHECK(scene.said.Await(1).back() == "compile");
}

TEST_CASE("Peek takes no lease, and is not counted") {
  Scene scene;
  scene.Peek();
  scene.Expect(kAsk, Written());
  CHECK(scene.said.Await(1) == Texts{"1 found"});
  scene.Peek();
  scene.Expect(kAsk, kNothing);
  CHECK(scene.said.Await(2).back() == "2");
  scene->Trust(std::make_shared<const TrustList>());
  scene.Peek();
  scene.Expect(kAsk, Written());
  CHECK(scene.said.Await(3).back() == "3 why");
  scene.Peek();
  scene.Expect(kAsk, "-NOPERM no rights\r\n");
  CHECK(scene.said.Await(4).back() == "4 why");
  CHECK(scene.Count(Counter::kRemoteLookups) == 0);
  CHECK(scene.Count(Counter::kRemoteUntrusted) == 0);
  scene.Peek();
  CHECK(scene.peer.Next().starts_with(kAsk));  // nothing else was sent before
  scene.peer = FakeConnection(-1);
  CHECK(scene.said.Await(5).back() == "4 why");
  REQUIRE(WaitUntil([&] { return !scene->gauges().connected; }));
  scene.Peek();
  CHECK(scene.said.Await(6).back() == "5 why");
}

TEST_CASE("Peek finds the artifact even if the manifest's server is down") {
  Scene scene;
  scene.Peek({kManifest, kArtifact});
  scene.Expect(kAskManifest, kDown);
  scene.Expect(kAsk, kNothing);
  CHECK(scene.said.Await(1) == Texts{"4 why"});
  scene.Peek({kArtifact, kManifest});
  scene.Expect(kAsk, Written());
  scene.Expect(kAskManifest, kDown);
  CHECK(scene.said.Await(2).back() == "1 found");
}

TEST_CASE("Peek waits for an answer as long as a build does") {
  Scene scene(1ms);
  scene.Peek();
  CHECK(scene.said.Await(1) == Texts{"4 why"});
  scene.Expect(kAsk, Written());
  CHECK(scene.Count(Counter::kRemoteLate) == 0);
}

TEST_CASE("a node measures its clock against the clock of Redis") {
  Scene scene;
  CHECK_FALSE(scene->gauges().clock_ahead);
  scene->Refresh();
  scene->Refresh();  // while the first query is unanswered
  const auto hour_ago = std::chrono::system_clock::now() - 1h;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(hour_ago.time_since_epoch());
  scene.Expect("TIME", "*2\r\n" + Text(std::to_string(seconds.count())) + Text("0"));
  REQUIRE(WaitUntil([&] { return scene->gauges().clock_ahead.has_value(); }));
  CHECK(*scene->gauges().clock_ahead >= 1h);
  CHECK(*scene->gauges().clock_ahead < 2h);
}

TEST_CASE("without a valid time from Redis the clock's difference is unknown") {
  Scene scene;
  for (const std::string& answer :
       {std::string("-NOPERM no rights\r\n"), kNil, std::string("*0\r\n"), "*1\r\n" + Text("7"),
        "*2\r\n" + Text("later") + Text("0"), "*2\r\n" + Text("99999999999999999999") + Text("0"),
        "*2\r\n" + Text("9223372036854775807") + Text("0"), "*2\r\n" + Text("-1") + Text("0")}) {
    REQUIRE(WaitUntil([&] {
      scene->Refresh();  // does nothing while the earlier answer is processed
      return scene->gauges().unanswered == 1;
    }));
    scene.Expect("TIME", answer);
    REQUIRE(WaitUntil([&] { return scene->gauges().unanswered == 0; }));
    CHECK_FALSE(scene->gauges().clock_ahead);
  }
}

TEST_CASE("a node reports its signing key and its trusted keys") {
  const Scene signs;
  CHECK(signs.gauges().signs);
  CHECK(signs.gauges().trusts_own_key);
  CHECK(signs.gauges().trusted_keys == 1);
  Scene reads(60s, false);
  CHECK_FALSE(reads.gauges().signs);
  CHECK_FALSE(reads.gauges().trusts_own_key);
  reads->Trust(std::make_shared<const TrustList>());
  CHECK(reads.gauges().trusted_keys == 0);
}

TEST_CASE("no callback runs after the cluster is closed") {
  Scene scene;
  scene.Ask();
  CHECK(scene.peer.Next().starts_with(kAsk));
  scene.Peek();
  CHECK(scene.peer.Next().starts_with(kAsk));
  scene->Close();
  scene.peer.Send(Written() + Written());
  scene.peer = FakeConnection(-1);
  REQUIRE(WaitUntil([&] { return !scene->gauges().connected; }));
  CHECK(scene.said.all().empty());
}

}  // namespace remote_cluster_test
