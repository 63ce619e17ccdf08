// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lease/deposits.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/wait_until.h"
#include "tests/unit/core/fake_cluster.h"
#include "tests/unit/core/fake_deposits.h"
#include "tests/unit/core/fakes.h"
#include "tests/unit/core/stall.h"

namespace cccl_cache::daemon::deposits_test {
namespace {

using std::chrono::milliseconds;

DepositClaim Claim(const std::string& name, uid_t uid = 1) {
  return {.key = cccl_cache::Sha256(name),
          .uid = uid,
          .scope = {cccl_cache::DepositScope::Kind::kUser, uid},
          .name_space = "n"};
}

/// Deposits with a fake store. Leases expire by the real clock.
struct Scene {
  explicit Scene(FakeDepositStore& in, Deposits::Options options = {}, Cluster* cluster = nullptr)
      : deposits(std::move(options),
                 {in, statistics, {}, cluster, [this](const DepositEvent& event) {
                    events.push_back(
                        {std::string(event.name_space), event.use, event.bytes, event.saved});
                  }}) {}

  /// Calls Acquire and waits for the answer: "lease", the contents, "released" or "refused".
  std::string Ask(const DepositClaim& claim) {
    waiter = deposits.NewSeat();
    const auto told = std::make_shared<std::promise<LeaseNews>>();
    deposits.Acquire(waiter, claim, [told, first = true](const LeaseNews& news) mutable {
      if (std::exchange(first, false)) told->set_value(news);
    });
    std::future<LeaseNews> answer = told->get_future();
    if (answer.wait_for(testing::kPatience) != std::future_status::ready) return "nothing";
    const LeaseNews news = answer.get();
    if (std::holds_alternative<LeaseReleased>(news)) return "released";
    if (const auto* found = std::get_if<DepositFound>(&news)) return *found->contents;
    const auto* grant = std::get_if<LeaseGrant>(&news);
    if (grant == nullptr) return "refused";
    fence = grant->fence;
    return "lease";
  }
  Deposits::Publication Publish(const DepositClaim& claim, const std::string& bytes) {
    return deposits.Publish(waiter, fence, claim, {std::make_shared<const std::string>(bytes)});
  }
  void Deposit(const DepositClaim& claim, const std::string& bytes) {
    REQUIRE(Ask(claim) == "lease");
    REQUIRE(std::holds_alternative<Ok>(Publish(claim, bytes)));
  }

  using Event = std::tuple<std::string, DepositUse, uint64_t, std::chrono::microseconds>;

  Statistics statistics;
  std::vector<Event> events;  // for tests in which one thread at a time calls
  Deposits deposits;
  Deposits::WaiterId waiter = 0;
  uint64_t fence = 0;
};

TEST_CASE("only the user of an inserted deposit gets it, by the key of its fields") {
  FakeDepositStore store;
  Scene scene(store);
  const auto fields = cccl_cache::DepositFieldsDigest({{"a", "1"}});
  const auto bytes = std::make_shared<const std::string>("bytes");
  CHECK(*scene.deposits.Insert(1, "n", fields, bytes) == Inserted::kNow);
  CHECK(*scene.deposits.Insert(1, "n", fields, bytes) == Inserted::kBefore);
  const auto claim = [](uid_t uid) {
    DepositClaim made{.uid = uid, .scope = {cccl_cache::DepositScope::Kind::kUser, uid}};
    made.name_space = "n";
    made.key = cccl_cache::DepositKey(made.scope, "n", {{"a", "1"}});
    return made;
  };
  CHECK(scene.Ask(claim(1)) == "bytes");
  CHECK(scene.Ask(claim(2)) == "lease");
  CHECK(scene.deposits.List(1, std::nullopt, 9).front().fields == fields);
}

TEST_CASE("a deposit that does not fit, or finds no room, is not inserted") {
  FakeDepositStore store;
  Scene scene(store, {.limits = {.bytes_per_uid = 1 << 20}});
  const auto large = std::make_shared<const std::string>(2 << 20, 'x');
  CHECK(scene.deposits.Insert(1, "n", {}, large).error().code == ErrorCode::kOverloaded);
  store.full = true;
  const auto small = std::make_shared<const std::string>("bytes");
  CHECK(scene.deposits.Insert(1, "n", {}, small).error().code == ErrorCode::kUnavailable);
  CHECK(scene.deposits.gauges().kept.entries == 0);
}

TEST_CASE("Counted reads the store again, and leases are granted only after it succeeded") {
  FakeDepositStore store;
  Scene(store).Deposit(Claim("a"), "bytes");
  store.unreadable = true;
  const Error full{ErrorCode::kUnavailable, "the disk is full"};
  Scene scene(store, {.run = full});
  CHECK(scene.Ask(Claim("b")) == "refused");
  CHECK(scene.deposits.Counted(full).error().message == full.message);
  store.unreadable = false;
  CHECK(scene.deposits.Counted(uint64_t{7}).ok());
  CHECK(scene.Ask(Claim("a")) == "bytes");
  CHECK(scene.Ask(Claim("b")) == "lease");
  CHECK(scene.fence >> 40 == 7);
  scene.deposits.Leave(scene.waiter);
  CHECK(scene.deposits.Counted(uint64_t{8}).ok());
  CHECK(scene.Ask(Claim("b")) == "lease");
  CHECK(scene.fence >> 40 == 7);
  scene.deposits.Leave(scene.waiter);
}

TEST_CASE("a user replaces its own deposit, and others get the old one until then") {
  FakeDepositStore store;
  Scene scene(store);
  scene.Deposit(Claim("a"), "old");
  DepositClaim replacing = Claim("a");
  replacing.replaces = true;
  CHECK(scene.Ask(replacing) == "lease");
  const auto holder = std::pair(scene.waiter, scene.fence);
  CHECK(scene.Ask(Claim("a")) == "old");
  std::tie(scene.waiter, scene.fence) = holder;
  CHECK(std::holds_alternative<Ok>(scene.Publish(replacing, "new")));
  CHECK(scene.Ask(Claim("a")) == "new");
  CHECK(scene.deposits.gauges().kept.entries == 1);
}

TEST_CASE("a caller can't replace the deposit of another user of its group") {
  FakeDepositStore store;
  Scene scene(store);
  scene.Deposit(Claim("a"), "old");
  DepositClaim replacing = Claim("a", 2);
  replacing.replaces = true;
  CHECK(scene.Ask(replacing) == "old");
}

TEST_CASE("a caller that waits to replace a deposit gets the one that the holder publishes") {
  FakeDepositStore store;
  Scene scene(store);
  scene.Deposit(Claim("a"), "old");
  DepositClaim replacing = Claim("a");
  replacing.replaces = true;
  CHECK(scene.Ask(replacing) == "lease");
  std::string told;
  scene.deposits.Acquire(scene.deposits.NewSeat(), replacing, [&](const LeaseNews& news) {
    told = *std::get<DepositFound>(news).contents;
  });
  CHECK(told.empty());
  CHECK(std::holds_alternative<Ok>(scene.Publish(replacing, "new")));
  CHECK(told == "new");
}

TEST_CASE("hits and joins count the time for which the deposit was made, also after a restart") {
  using Event = Scene::Event;
  constexpr std::chrono::microseconds kTook = std::chrono::seconds(3);
  constexpr std::chrono::microseconds kNone{0};
  FakeDepositStore store;
  std::atomic<std::chrono::steady_clock::time_point> now = std::chrono::steady_clock::now();
  {
    Scene scene(store, {.now = [&] { return now.load(); }});
    REQUIRE(scene.Ask(Claim("a")) == "lease");
    scene.deposits.Acquire(scene.deposits.NewSeat(), Claim("a"), [](const LeaseNews&) {});
    now = now.load() + kTook;
    REQUIRE(std::holds_alternative<Ok>(scene.Publish(Claim("a"), "bytes")));
    CHECK(scene.events == std::vector<Event>{{"n", DepositUse::kMade, 5, kNone},
                                             {"n", DepositUse::kJoined, 5, kTook}});
  }
  Scene scene(store);
  CHECK(scene.Ask(Claim("a")) == "bytes");
  CHECK(scene.events == std::vector<Event>{{"n", DepositUse::kFound, 5, kTook}});
  CHECK(scene.statistics.Get(Counter::kDepositReadBytes) == 5);
  CHECK(scene.statistics.Get(Counter::kDepositSavedMicroseconds) == 3'000'000);
}

DepositClaim Watching(DepositClaim claim) {
  claim.accepts_release = claim.waits_only = true;
  return claim;
}

TEST_CASE("a caller that only waits gets the deposit, or is released, and never holds the lease") {
  FakeDepositStore store;
  Scene scene(store);
  CHECK(scene.Ask(Watching(Claim("a"))) == "released");
  scene.Deposit(Claim("a"), "bytes");
  CHECK(scene.Ask(Watching(Claim("a"))) == "bytes");
  store.unreadable = true;
  CHECK(scene.Ask(Watching(Claim("a"))) == "released");
  CHECK(scene.statistics.Get(Counter::kLeases) == 1);
}

TEST_CASE("a caller that only waits gets a deposit that is published during its look-up") {
  FakeDepositStore store;
  Scene scene(store);
  scene.Deposit(Claim("a"), "bytes");
  store.during_get = [&] {
    REQUIRE(scene.deposits.Remove(Claim("a").key, 1));
    scene.Deposit(Claim("a"), "anew");
  };
  CHECK(scene.Ask(Watching(Claim("a"))) == "anew");
}

TEST_CASE("a corrupt deposit is a miss, and is removed") {
  FakeDepositStore store;
  Scene scene(store);
  scene.Deposit(Claim("a"), "bytes");
  store.Corrupt(Claim("a").key);
  CHECK(scene.Ask(Claim("a")) == "lease");
  CHECK(store.size() == 0);
  CHECK(scene.deposits.gauges().kept.entries == 0);
  REQUIRE(std::holds_alternative<Ok>(scene.Publish(Claim("a"), "again")));
  CHECK(scene.Ask(Claim("a")) == "again");
}

TEST_CASE("an unreadable deposit is a miss, and is kept") {
  FakeDepositStore store;
  Scene scene(store);
  scene.Deposit(Claim("a"), "bytes");
  const Digest key = Claim("a").key;
  store.unreadable = true;
  CHECK_FALSE(scene.deposits.Verify(key).ok());
  CHECK(scene.deposits.Read(key) == nullptr);
  CHECK(scene.Ask(Claim("a")) == "lease");
  scene.deposits.Leave(scene.waiter);
  store.unreadable = false;
  CHECK(*scene.deposits.Verify(key));
  CHECK(scene.Ask(Claim("a")) == "bytes");
  store.Corrupt(key);
  CHECK_FALSE(*scene.deposits.Verify(key));
  CHECK(*scene.deposits.Verify(key));  // the deposit is gone
}

TEST_CASE("a key without a deposit causes no disk read") {
  FakeDepositStore store;
  Scene scene(store);
  CHECK(scene.Ask(Claim("a")) == "lease");
  CHECK(store.gets() == 0);
  scene.deposits.Leave(scene.waiter);
}

TEST_CASE("a deposit larger than the quota is refused with the setting's name") {
  FakeDepositStore store;
  Scene scene(store, {.limits = {.bytes_per_uid = DepositIndex::kLeastCharge}});
  REQUIRE(scene.Ask(Claim("a")) == "lease");
  const auto refused = scene.Publish(Claim("a"), std::string(DepositIndex::kLeastCharge + 1, 'x'));
  const auto* error = std::get_if<Error>(&refused);
  REQUIRE(error != nullptr);
  CHECK(error->code == ErrorCode::kOverloaded);
  CHECK(error->message.find("deposit_limit_per_uid") != std::string::npos);
  CHECK(store.size() == 0);
  CHECK(std::holds_alternative<Ok>(scene.Publish(Claim("a"), "smaller")));
}

TEST_CASE("deposits above lowered limits are evicted at the next start") {
  FakeDepositStore store;
  {
    Scene scene(store);
    for (const char* name : {"a", "b", "c"}) scene.Deposit(Claim(name), name);
  }
  const Scene scene(store, {.limits = {.bytes_per_uid = 2 * DepositIndex::kLeastCharge}});
  CHECK(store.size() == 2);
}

TEST_CASE("a waiting caller gets the deposit that the holder of the lease publishes") {
  FakeDepositStore store;
  Scene scene(store);
  scene.Deposit(Claim("a"), "bytes");
  // Without the deposit, the next caller gets the lease.
  REQUIRE(scene.deposits.Remove(Claim("a").key, 1));
  REQUIRE(scene.Ask(Claim("a")) == "lease");
  const auto holder = scene.waiter;
  std::string told;
  scene.deposits.Acquire(scene.deposits.NewSeat(), Claim("a"), [&](const LeaseNews& news) {
    told = *std::get<DepositFound>(news).contents;
  });
  REQUIRE(told.empty());
  REQUIRE(std::holds_alternative<Ok>(scene.Publish(Claim("a"), "anew")));
  CHECK(told == "anew");
  CHECK(scene.statistics.Get(Counter::kDepositWaits) == 1);
  scene.deposits.Leave(holder);
}

TEST_CASE("Acquire does not wait for a stalled disk") {
  FakeDepositStore store;
  testing::Stall stall;
  Scene scene(store);
  scene.Deposit(Claim("a"), "bytes");
  store.during_get = [&] { stall.Enter(); };
  std::promise<LeaseNews> told;
  std::future<LeaseNews> answer = told.get_future();
  scene.deposits.Acquire(scene.deposits.NewSeat(), Claim("a"),
                         [&](const LeaseNews& news) { told.set_value(news); });
  REQUIRE(stall.WaitUntilEntered(1));
  CHECK(answer.wait_for(milliseconds(0)) == std::future_status::timeout);
  CHECK(scene.Ask(Claim("b")) == "lease");
  scene.deposits.Leave(scene.waiter);
  stall.End();
  REQUIRE(answer.wait_for(testing::kPatience) == std::future_status::ready);
}

TEST_CASE("a caller gets an error if its disk read, or other reads of its user, hang") {
  FakeDepositStore store;
  testing::Stall stall;
  Scene scene(store, {.disk_patience = milliseconds(20)});
  scene.Deposit(Claim("a"), "bytes");
  constexpr size_t kReads = kDiskReads.threads_per_uid;
  constexpr size_t kCallers = 2 * kReads;
  std::promise<void> all;
  std::atomic<size_t> errors = 0;
  for (size_t i = 0; i < kCallers; ++i) {
    if (i < kReads) store.during_get = [&] { stall.Enter(); };
    scene.deposits.Acquire(scene.deposits.NewSeat(), Claim("a"), [&](const LeaseNews& news) {
      CHECK(std::holds_alternative<Error>(news));
      if (++errors == kCallers) all.set_value();
    });
    if (i < kReads) REQUIRE(stall.WaitUntilEntered(i + 1));
  }
  CHECK(all.get_future().wait_for(testing::kPatience) == std::future_status::ready);
  stall.End();
}

TEST_CASE("a caller that leaves during its disk read keeps no lease") {
  FakeDepositStore store;
  testing::Stall stall;
  // A lease without heartbeats expires, but not during this test.
  Scene scene(store, {.limits = {.heartbeat = 2 * testing::kPatience}});
  scene.Deposit(Claim("a"), "bytes");
  store.during_get = [&] { stall.Enter(); };  // finds nothing, so the caller would get the lease
  const auto waiter = scene.deposits.NewSeat();
  scene.deposits.Acquire(waiter, Claim("a"), [](const LeaseNews&) {});
  REQUIRE(stall.WaitUntilEntered(1));
  scene.deposits.Leave(waiter);
  stall.End();
  REQUIRE(WaitUntil([&] { return store.size() == 0; }));
  CHECK(scene.Ask(Claim("a")) == "lease");
  scene.deposits.Leave(scene.waiter);
}

TEST_CASE("a lease does not expire while the disk is read for its holder") {
  FakeDepositStore store;
  testing::Stall stall;
  // Time stands still, so that a slow thread does not lose its lease before it can publish.
  std::atomic<std::chrono::steady_clock::time_point> now = std::chrono::steady_clock::now();
  Scene scene(store, {.limits = {.heartbeat = milliseconds(1)}, .now = [&] { return now.load(); }});
  scene.Deposit(Claim("a"), "bytes");
  // The first look-up finds nothing. The look-up with the lease stalls until the lease on "b" has
  // expired.
  store.during_get = [&] {
    REQUIRE(scene.deposits.Remove(Claim("a").key, 1));
    scene.Deposit(Claim("a"), "anew");
    store.during_get = [&] { stall.Enter(); };
  };
  std::promise<LeaseNews> told;
  std::future<LeaseNews> answer = told.get_future();
  const auto waiter = scene.deposits.NewSeat();
  scene.deposits.Acquire(waiter, Claim("a"), [&, first = true](const LeaseNews& news) mutable {
    if (std::exchange(first, false)) told.set_value(news);
  });
  REQUIRE(stall.WaitUntilEntered(1));
  std::promise<void> lost;
  scene.deposits.Acquire(scene.deposits.NewSeat(), Claim("b"), [&](const LeaseNews& news) {
    if (std::holds_alternative<LeaseLost>(news)) lost.set_value();
  });
  now = now.load() + std::chrono::seconds(1);  // too long without a heartbeat for both holders
  REQUIRE(lost.get_future().wait_for(testing::kPatience) == std::future_status::ready);
  stall.End();
  REQUIRE(answer.wait_for(testing::kPatience) == std::future_status::ready);
  CHECK(std::holds_alternative<LeaseGrant>(answer.get()));
  scene.deposits.Leave(waiter);
}

TEST_CASE("a miss does not remove a deposit that was published during its look-up") {
  FakeDepositStore store;
  Scene scene(store);
  scene.Deposit(Claim("a"), "bytes");
  store.during_get = [&] {
    REQUIRE(scene.deposits.Remove(Claim("a").key, 1));
    scene.Deposit(Claim("a"), "anew");
  };
  CHECK(scene.Ask(Claim("a")) == "anew");
  CHECK(scene.deposits.gauges().kept.entries == 1);
}

TEST_CASE("Remove does not remove a deposit that is published meanwhile") {
  FakeDepositStore store;
  Scene scene(store);
  scene.Deposit(Claim("a"), "bytes");
  std::future<void> published;
  store.during_remove = [&] {
    published = std::async(std::launch::async, [&] { scene.Deposit(Claim("a"), "anew"); });
    // The publication must wait for the removal. Otherwise the publication would end within this
    // time.
    published.wait_for(milliseconds(200));
  };
  REQUIRE(scene.deposits.Remove(Claim("a").key, 1));
  published.get();
  CHECK(scene.Ask(Claim("a")) == "anew");
}

TEST_CASE("a deposit that the store can't keep reaches the waiters, and evicts nothing") {
  FakeDepositStore store;
  Scene scene(store, {.limits = {.bytes_per_uid = DepositIndex::kLeastCharge}});
  scene.Deposit(Claim("kept"), "kept");
  store.full = true;
  REQUIRE(scene.Ask(Claim("a")) == "lease");
  std::string told;
  scene.deposits.Acquire(scene.deposits.NewSeat(), Claim("a"), [&](const LeaseNews& news) {
    told = *std::get<DepositFound>(news).contents;
  });
  REQUIRE(std::holds_alternative<Ok>(scene.Publish(Claim("a"), "made")));
  CHECK(told == "made");
  CHECK(scene.Ask(Claim("kept")) == "kept");
  CHECK(scene.Ask(Claim("a")) == "lease");
  scene.deposits.Leave(scene.waiter);
}

DepositClaim OfGroup(gid_t gid, const std::string& name, uid_t uid = 1) {
  DepositClaim claim{.uid = uid,
                     .scope = {cccl_cache::DepositScope::Kind::kGroup, gid},
                     .name_space = "n",
                     .fields = cccl_cache::Sha256(name)};
  claim.key = DepositKey(claim.scope, DepositIdentity(claim.name_space, claim.fields));
  return claim;
}

constexpr uint64_t kSharedBytes = 100;

/// A node with these shared groups by gid, and the answers to one caller.
struct Node {
  Node(testing::FakeCluster& others, std::map<gid_t, std::string> groups, DepositLimits limits = {})
      : scene(store,
              {.limits = limits, .shared_groups = std::move(groups), .shared_bytes = kSharedBytes},
              &others) {}
  ~Node() { scene.deposits.Leave(waiter); }

  void Acquire(const DepositClaim& claim) {
    waiter = scene.deposits.NewSeat();
    scene.deposits.Acquire(waiter, claim, [this](const LeaseNews& news) { told.push_back(news); });
  }
  [[nodiscard]] std::string Contents() const {
    REQUIRE(told.size() == 1);
    const auto* found = std::get_if<DepositFound>(&told.front());
    return found == nullptr ? "no deposit" : *found->contents;
  }
  [[nodiscard]] bool HasLease() const {
    return told.size() == 1 && std::holds_alternative<LeaseGrant>(told.front());
  }

  FakeDepositStore store;
  std::vector<LeaseNews> told;
  Deposits::WaiterId waiter = 0;
  Scene scene;
};

void DepositElsewhere(testing::FakeCluster& nodes, const DepositClaim& claim,
                      const std::string& bytes, std::map<gid_t, std::string> groups) {
  Node node(nodes, std::move(groups));
  nodes.reachable = false;
  node.scene.Deposit(claim, bytes);
  nodes.reachable = true;
}

TEST_CASE("a shared group's deposit is found on another node by the group's name") {
  testing::FakeCluster nodes;
  DepositElsewhere(nodes, OfGroup(7, "a"), "bytes", {{7, "lab"}});
  Node other(nodes, {{9, "lab"}});
  other.Acquire(OfGroup(9, "a", 2));
  CHECK(other.told.empty());
  CHECK(nodes.Last().question.account == Account(2));
  CHECK(nodes.Last().question.entries.front().kind == EntryKind::kDeposit);
  CHECK(nodes.Tell(nodes.Last()) == true);
  CHECK(other.Contents() == "bytes");
  CHECK(nodes.Last().ended.stop_requested());
  CHECK(other.scene.deposits.List(2, std::nullopt, 9).size() == 1);
  CHECK(other.scene.deposits.gauges().leases.held == 0);
  CHECK(other.scene.Ask(OfGroup(9, "a", 3)) == "bytes");
  CHECK(nodes.asked() == 1);
}

TEST_CASE("the time for which another node made a deposit is kept, and counts as saved") {
  constexpr std::chrono::microseconds kTook = std::chrono::seconds(3);
  testing::FakeCluster nodes;
  {
    std::atomic<std::chrono::steady_clock::time_point> now = std::chrono::steady_clock::now();
    FakeDepositStore store;
    Scene maker(store,
                {.shared_groups = {{7, "lab"}},
                 .shared_bytes = kSharedBytes,
                 .now = [&] { return now.load(); }},
                &nodes);
    nodes.reachable = false;
    REQUIRE(maker.Ask(OfGroup(7, "a")) == "lease");
    now = now.load() + kTook;
    REQUIRE(std::holds_alternative<Ok>(maker.Publish(OfGroup(7, "a"), "bytes")));
    nodes.reachable = true;
  }
  Node fetches(nodes, {{7, "lab"}});
  fetches.Acquire(OfGroup(7, "a", 2));
  nodes.Tell(nodes.Last());
  CHECK(fetches.scene.Ask(OfGroup(7, "a", 3)) == "bytes");
  Node watches(nodes, {{7, "lab"}});
  watches.Acquire(Watching(OfGroup(7, "a", 2)));
  nodes.Tell(nodes.Last(2));
  const Scene::Event saved{"n", DepositUse::kFound, 5, kTook};
  CHECK(fetches.scene.events == std::vector<Scene::Event>{saved, saved});
  CHECK(watches.scene.events == std::vector<Scene::Event>{saved});
}

TEST_CASE("a caller can't replace a deposit that it has fetched from another node") {
  testing::FakeCluster nodes;
  DepositElsewhere(nodes, OfGroup(7, "a", 1), "bytes", {{7, "lab"}});
  FakeDepositStore store;
  const Deposits::Options options{.shared_groups = {{7, "lab"}}, .shared_bytes = kSharedBytes};
  DepositClaim replacing = OfGroup(7, "a", 2);
  replacing.replaces = true;
  {
    Scene scene(store, options, &nodes);
    scene.deposits.Acquire(scene.deposits.NewSeat(), OfGroup(7, "a", 2), [](const LeaseNews&) {});
    nodes.Tell(nodes.Last());
    CHECK(scene.Ask(replacing) == "bytes");
  }
  // The store's record says it to the next run of the daemon.
  CHECK(Scene(store, options, &nodes).Ask(replacing) == "bytes");
}

TEST_CASE("a deposit that its user replaces is replaced on the other nodes, too") {
  testing::FakeCluster nodes;
  FakeDepositStore store;
  Scene scene(store, {.shared_groups = {{7, "lab"}}, .shared_bytes = kSharedBytes}, &nodes);
  const auto shared = [&] { return *nodes.entries().begin()->second.deposit; };
  nodes.reachable = false;
  scene.Deposit(OfGroup(7, "a"), "old");
  CHECK(shared() == "old");
  DepositClaim replacing = OfGroup(7, "a");
  replacing.replaces = true;
  scene.Deposit(replacing, "new");
  CHECK(shared() == "new");
}

TEST_CASE("deposits of a user or an unshared group stay on the node, and cause no query") {
  testing::FakeCluster nodes;
  FakeDepositStore store;
  Scene scene(store, {.shared_groups = {{7, "lab"}}, .shared_bytes = kSharedBytes}, &nodes);
  scene.Deposit(Claim("a", 7), "bytes");
  scene.Deposit(OfGroup(8, "a"), "bytes");
  const auto inserted = std::make_shared<const std::string>("bytes");
  CHECK(scene.deposits.Insert(7, "n", cccl_cache::Sha256("a"), inserted).ok());
  CHECK(nodes.entries().empty());
  CHECK(nodes.asked() == 0);
}

TEST_CASE("a deposit above the shared limit stays on its node") {
  testing::FakeCluster nodes;
  DepositElsewhere(nodes, OfGroup(7, "a"), std::string(kSharedBytes + 1, 'x'), {{7, "lab"}});
  CHECK(nodes.entries().empty());
  DepositElsewhere(nodes, OfGroup(7, "a"), std::string(kSharedBytes, 'x'), {{7, "lab"}});
  CHECK(nodes.entries().size() == 1);
}

TEST_CASE("a deposit for one shared group is not found for another, even with the same gid") {
  testing::FakeCluster nodes;
  DepositElsewhere(nodes, OfGroup(7, "a"), "bytes", {{7, "lab"}});
  Node other(nodes, {{7, "office"}, {9, "lab"}});
  other.Acquire(OfGroup(7, "a"));
  CHECK(nodes.Tell(nodes.Last()) == std::nullopt);
  nodes.Last().asker.compile();
  CHECK(other.HasLease());
}

TEST_CASE("a caller gets the lease if no node has the deposit, and late answers change nothing") {
  testing::FakeCluster nodes;
  DepositElsewhere(nodes, OfGroup(7, "a"), "bytes", {{7, "lab"}});
  Node node(nodes, {{7, "lab"}});
  node.Acquire(OfGroup(7, "a"));
  nodes.Last().asker.compile();
  CHECK(node.HasLease());
  nodes.Tell(nodes.Last());
  CHECK(node.HasLease());
  CHECK(node.store.size() == 0);
  nodes.reachable = false;
  Node alone(nodes, {{7, "lab"}});
  alone.Acquire(OfGroup(7, "a"));
  CHECK(alone.HasLease());
}

TEST_CASE("a lease of all nodes lasts until its caller leaves, fails, publishes or loses its own") {
  testing::FakeCluster nodes;
  auto hold = [&, asked = size_t{0}](Node& node) mutable {
    node.Acquire(OfGroup(7, "a"));
    const auto question = nodes.Last(++asked);
    CHECK(question.question.compile == question.question.entries.front().key);
    CHECK(question.question.longest_wait == DepositLimits().longest_lease);
    question.asker.compile();
    return question.ended;
  };
  Node node(nodes, {{7, "lab"}});
  const std::stop_token left = hold(node);
  CHECK_FALSE(left.stop_requested());
  node.scene.deposits.Leave(node.waiter);
  CHECK(left.stop_requested());
  const std::stop_token failed = hold(node);
  CHECK_FALSE(failed.stop_requested());
  node.scene.deposits.Fail(node.waiter);
  CHECK(failed.stop_requested());
  const std::stop_token published = hold(node);
  const uint64_t fence = std::get<LeaseGrant>(node.told.back()).fence;
  const auto made = std::make_shared<const std::string>("made");
  CHECK_FALSE(published.stop_requested());
  CHECK(std::holds_alternative<Ok>(
      node.scene.deposits.Publish(node.waiter, fence, OfGroup(7, "a"), made)));
  CHECK(published.stop_requested());
  Node silent(nodes, {{7, "lab"}}, {.heartbeat = std::chrono::milliseconds(1)});
  const std::stop_token lost = hold(silent);
  CHECK(WaitUntil([&] { return lost.stop_requested(); }));
}

TEST_CASE("a caller waits for another node no longer than it said") {
  testing::FakeCluster nodes;
  Node node(nodes, {{7, "lab"}});
  DepositClaim claim = OfGroup(7, "a");
  claim.wait = std::chrono::milliseconds(1);
  node.Acquire(claim);
  REQUIRE(WaitUntil([&] { return nodes.Last().ended.stop_requested(); }));
  CHECK(node.scene.deposits.gauges().leases.waiting == 0);
}

TEST_CASE("one caller queries the other nodes, and all waiters get the answer") {
  testing::FakeCluster nodes;
  DepositElsewhere(nodes, OfGroup(7, "a"), "bytes", {{7, "lab"}});
  Node node(nodes, {{7, "lab"}});
  node.Acquire(OfGroup(7, "a", 1));
  const Deposits::WaiterId second = node.scene.deposits.NewSeat();
  std::optional<LeaseNews> news;
  node.scene.deposits.Acquire(second, OfGroup(7, "a", 2), [&](const LeaseNews& n) { news = n; });
  CHECK(nodes.asked() == 1);
  nodes.Tell(nodes.Last());
  REQUIRE(news);
  CHECK(std::holds_alternative<DepositFound>(*news));
}

TEST_CASE("if the caller that queries other nodes leaves, the next waiter queries them") {
  testing::FakeCluster nodes;
  DepositElsewhere(nodes, OfGroup(7, "a"), "bytes", {{7, "lab"}});
  Node first(nodes, {{7, "lab"}});
  first.Acquire(OfGroup(7, "a", 1));
  const auto asked = nodes.Last();
  const Deposits::WaiterId left = first.waiter;
  first.Acquire(OfGroup(7, "a", 2));
  first.scene.deposits.Leave(left);
  CHECK(asked.ended.stop_requested());
  CHECK(nodes.asked() == 2);
  nodes.Tell(asked);
  CHECK(first.told.empty());
  nodes.Tell(nodes.Last(2));
  CHECK(first.Contents() == "bytes");
}

TEST_CASE("a caller that only waits watches other nodes, and takes no lease there") {
  testing::FakeCluster nodes;
  DepositElsewhere(nodes, OfGroup(7, "a"), "bytes", {{7, "lab"}});
  Node here(nodes, {{7, "lab"}});
  here.Acquire(Watching(OfGroup(7, "a")));
  CHECK_FALSE(nodes.Last().question.takes_lease);
  CHECK(nodes.Last().question.longest_wait == DepositLimits().longest_lease);
  CHECK(here.told.empty());
  CHECK(nodes.Tell(nodes.Last()) == true);
  CHECK(here.Contents() == "bytes");
  CHECK(nodes.Last().ended.stop_requested());
  CHECK(here.scene.deposits.List(1, std::nullopt, 9).front().is_fetched);
  nodes.Last().asker.compile();
  nodes.Tell(nodes.Last());
  CHECK(here.told.size() == 1);
  nodes.reachable = false;
  CHECK(here.scene.Ask(Watching(OfGroup(7, "c"))) == "released");
  CHECK(here.scene.statistics.Get(Counter::kLeases) == 0);
}

TEST_CASE("a caller that watches other nodes is released, ends its wait, leaves, or is stopped") {
  testing::FakeCluster nodes;
  Node here(nodes, {{7, "lab"}});
  auto watch = [&, asked = size_t{0}](DepositClaim claim) mutable {
    here.told.clear();
    here.Acquire(Watching(std::move(claim)));
    return nodes.Last(++asked);
  };
  watch(OfGroup(7, "a")).asker.compile();
  CHECK(std::holds_alternative<LeaseReleased>(here.told.at(0)));
  DepositClaim briefly = OfGroup(7, "a");
  briefly.wait = milliseconds(1);
  const auto brief = watch(briefly);
  CHECK(brief.question.longest_wait <= milliseconds(1));
  REQUIRE(WaitUntil(
      [&] { return std::chrono::steady_clock::now() > brief.question.since + briefly.wait; }));
  brief.asker.compile();
  CHECK(std::get<Error>(here.told.at(0)).code == ErrorCode::kTimedOut);
  const auto left = watch(OfGroup(7, "a"));
  here.scene.deposits.Leave(here.waiter);
  CHECK(left.ended.stop_requested());
  left.asker.compile();
  CHECK(here.told.empty());
  const auto stopped = watch(OfGroup(7, "a"));
  here.scene.deposits.Stop();
  CHECK(stopped.ended.stop_requested());
  CHECK(std::get<Error>(here.told.at(0)).code == ErrorCode::kUnavailable);
}

TEST_CASE("a caller that watches other nodes gets what a caller of its own node makes meanwhile") {
  testing::FakeCluster nodes;
  Node here(nodes, {{7, "lab"}});
  here.Acquire(Watching(OfGroup(7, "a")));
  const auto asked = nodes.Last();
  nodes.reachable = false;
  here.scene.Deposit(OfGroup(7, "a"), "made here");
  asked.asker.compile();
  REQUIRE(WaitUntil([&] { return here.scene.statistics.Get(Counter::kDepositHits) == 1; }));
  CHECK(here.scene.deposits.List(1, std::nullopt, 9).front().is_fetched == false);
}

TEST_CASE("Remove also removes the user's deposit from the cluster") {
  testing::FakeCluster nodes;
  Node node(nodes, {{7, "lab"}});
  nodes.reachable = false;
  node.scene.Deposit(OfGroup(7, "a", 1), "bytes");
  CHECK_FALSE(node.scene.deposits.Remove(OfGroup(7, "a").key, 2));
  CHECK(nodes.entries().size() == 1);
  CHECK(node.scene.deposits.Remove(OfGroup(7, "a").key, 1));
  CHECK(nodes.entries().empty());
}

TEST_CASE("deposits of other nodes count toward the caller's quota") {
  testing::FakeCluster nodes;
  constexpr uint64_t kOne = DepositIndex::kLeastCharge;
  for (const char* name : {"a", "b", "c"}) {
    DepositElsewhere(nodes, OfGroup(7, name), name, {{7, "lab"}});
  }
  Node node(nodes, {{7, "lab"}}, {.bytes_per_uid = 2 * kOne});
  size_t questions = 0;
  for (const char* name : {"a", "b", "c"}) {
    node.told.clear();
    node.Acquire(OfGroup(7, name, 5));
    nodes.Tell(nodes.Last(++questions));
    CHECK(node.Contents() == name);
  }
  CHECK(node.scene.deposits.List(5, std::nullopt, 9).size() == 2);
  CHECK(node.store.size() == 2);
}

}  // namespace
}  // namespace cccl_cache::daemon::deposits_test
