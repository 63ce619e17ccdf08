// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/activity.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <string>
#include <utility>

#include "daemon/core/coordinator/coordinator.h"
#include "tests/unit/core/coordinator_bench.h"

namespace cccl_cache::daemon::activity_test {
namespace {

using testing::CoordinatorBench;
using testing::kAlice;
using testing::kBob;
using testing::kPatience;
using testing::MakeRequest;
using testing::SourceAsOutput;

Peer Administrator() {
  Peer peer = kBob;
  peer.administrator = true;
  return peer;
}

/// A coordinator whose compiles run until the end of the test.
class Busy {
 public:
  explicit Busy(size_t queued_per_uid = 4)
      : bench_(
            [this](const CompileJob& job, int call) {
              if (!begun_.exchange(true)) began_.set_value();
              go_on_.wait();
              return SourceAsOutput(job, call);
            },
            {.slots = 1, .queued_per_uid = queued_per_uid}) {}
  ~Busy() {
    end_.set_value();
    bench_.Stop();
  }

  /// When this returns, the first build runs and the others are queued.
  void Start(const std::string& source, const Peer& peer) {
    bench_.coordinator->Start(MakeRequest(source), {peer, nullptr}, [](const auto&) {});
    if (!std::exchange(started_, true)) {
      REQUIRE(began_.get_future().wait_for(kPatience) == std::future_status::ready);
    }
  }
  BuildActivity Seen(const Peer& peer) { return bench_.coordinator->Activity(peer); }
  CoordinatorBench& bench() { return bench_; }

 private:
  std::promise<void> end_;
  const std::shared_future<void> go_on_ = end_.get_future().share();
  std::promise<void> began_;
  std::atomic<bool> begun_ = false;
  bool started_ = false;
  CoordinatorBench bench_;
};

TEST_CASE("an administrator sees all flights, running ones first") {
  Busy busy;
  busy.Start("a", kAlice);
  busy.Start("a", kBob);
  busy.Start("b", kAlice);
  const BuildActivity seen = busy.Seen(Administrator());
  CHECK(seen.slots == 1);
  CHECK(seen.running == 1);
  CHECK(seen.queued == 1);
  CHECK(seen.waiting == 3);
  CHECK(seen.more_flights == 0);
  REQUIRE(seen.flights.size() == 2);
  CHECK(seen.flights[0].state == FlightState::kRunning);
  CHECK(seen.flights[0].kind == "nvrtc");
  CHECK(seen.flights[0].toolchain.starts_with("13.0 "));
  CHECK(seen.flights[0].age >= seen.flights[0].running);
  CHECK(seen.flights[0].waiters == 2);
  CHECK(seen.flights[0].uid == kAlice.uid);
  CHECK(seen.flights[1].state == FlightState::kQueued);
  REQUIRE(seen.accounts.size() == 1);
  CHECK(seen.accounts[0].running == 1);
  CHECK(seen.accounts[0].queued == 1);
}

TEST_CASE("a user sees only its own flights, waiters and queue") {
  Busy busy;
  busy.Start("a", kAlice);
  busy.Start("a", kBob);
  busy.Start("b", kAlice);
  const BuildActivity seen = busy.Seen(kBob);
  REQUIRE(seen.flights.size() == 1);
  CHECK(seen.flights[0].state == FlightState::kRunning);
  CHECK(seen.flights[0].waiters == 1);
  CHECK(seen.flights[0].uid == kBob.uid);
  CHECK(seen.accounts.empty());
  CHECK(seen.queued == 1);  // totals
  CHECK(seen.waiting == 3);
}

TEST_CASE("flights that the asking process itself waits for are marked") {
  Peer other = kAlice;
  other.pid = kAlice.pid + 1;
  Busy busy;
  busy.Start("a", kAlice);
  busy.Start("b", other);
  const BuildActivity seen = busy.Seen(other);
  REQUIRE(seen.flights.size() == 2);
  CHECK_FALSE(seen.flights[0].of_asker);
  CHECK(seen.flights[1].of_asker);
}

TEST_CASE("the overflow uid sees no flights, and gets no flight's request by its key") {
  const Peer nobody{kOverflowUid, kOverflowUid, {}, 9};
  Busy busy;
  busy.Start("a", nobody);
  CHECK(busy.Seen(nobody).flights.empty());
  const BuildActivity all = busy.Seen(Administrator());
  REQUIRE(all.flights.size() == 1);
  const auto found = busy.bench().coordinator->RequestOf(all.flights[0].key, nobody);
  REQUIRE(found.ok());
  CHECK(*found == nullptr);
}

TEST_CASE("flights beyond the bound are counted, not listed") {
  constexpr size_t kMore = 3;
  Busy busy(kMaxListedFlights + kMore);
  for (size_t i = 0; i < kMaxListedFlights + kMore; ++i) busy.Start(std::to_string(i), kAlice);
  const BuildActivity seen = busy.Seen(kAlice);
  CHECK(seen.flights.size() == kMaxListedFlights);
  CHECK(seen.more_flights == kMore);
  CHECK(seen.flights[0].state == FlightState::kRunning);
}

TEST_CASE("only a flight's waiters get its request by its key") {
  Busy busy;
  busy.Start("a", kAlice);
  const Digest key = busy.Seen(kAlice).flights.at(0).key;
  const auto found = busy.bench().coordinator->RequestOf(key, kAlice);
  REQUIRE(found.ok());
  REQUIRE(*found != nullptr);
  CHECK(std::get<cccl_cache::NvrtcProgram>((*found)->program).source == "a");
  const auto other = busy.bench().coordinator->RequestOf(key, kBob);
  REQUIRE(other.ok());
  CHECK(*other == nullptr);
}

}  // namespace
}  // namespace cccl_cache::daemon::activity_test
