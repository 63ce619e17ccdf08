// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <vector>

#include "daemon/core/run/idle_checks.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon {
namespace {

using testing::kPatience;

TEST_CASE("an idle job waits until a slot is free") {
  std::atomic<size_t> busy{2};
  std::atomic<size_t> was_busy{2};
  std::promise<void> asked;
  std::atomic<bool> told{false};
  std::promise<void> done;
  IdleJobs jobs({.slots = 2}, [&] {
    if (!told.exchange(true)) asked.set_value();
    return busy.load();
  });
  jobs.Add(Account(1), 0, [&](std::stop_token) {
    was_busy = busy.load();
    done.set_value();
  });
  REQUIRE(asked.get_future().wait_for(kPatience) == std::future_status::ready);
  busy = 1;
  REQUIRE(done.get_future().wait_for(kPatience) == std::future_status::ready);
  CHECK(was_busy == 1);
}

TEST_CASE("a job in a caller's way is stopped, and runs again once there is room") {
  std::atomic<size_t> busy{0};
  std::promise<void> started;
  std::promise<void> done;
  std::atomic<int> runs{0};
  IdleJobs jobs({.slots = 2}, [&] { return busy.load(); });
  jobs.Add(Account(1), 0, [&](const std::stop_token& stop) {
    if (++runs > 1) return done.set_value();
    started.set_value();
    while (!stop.stop_requested()) std::this_thread::yield();
    busy = 0;
  });
  REQUIRE(started.get_future().wait_for(kPatience) == std::future_status::ready);
  busy = 1;
  jobs.MakeRoom();  // there is some
  CHECK(runs == 1);
  busy = 2;
  jobs.MakeRoom();
  REQUIRE(done.get_future().wait_for(kPatience) == std::future_status::ready);
  CHECK(runs == 2);
}

/// Jobs that wait until the first one is told to end.
struct Line {
  explicit Line(const IdleJobs::Bounds& bounds) : jobs(bounds, [] { return size_t{0}; }) {
    jobs.Add(Account(0), 0, [this](std::stop_token) {
      started.set_value();
      go.get_future().wait();
    });
    REQUIRE(started.get_future().wait_for(kPatience) == std::future_status::ready);
  }
  void Add(uid_t uid, size_t bytes) {
    jobs.Add(Account(uid), bytes, [this, uid](std::stop_token) { served.push_back(uid); });
  }
  /// Whose jobs ran, in order, when each user has had `turns`.
  std::vector<uid_t> Finish(int turns) {
    AddLast(turns);
    go.set_value();
    std::future<std::vector<uid_t>> result = last.get_future();
    REQUIRE(result.wait_for(kPatience) == std::future_status::ready);
    return result.get();
  }
  void AddLast(int turns) {
    jobs.Add(Account(99), 0, [this, turns](std::stop_token) {
      if (turns > 1) return AddLast(turns - 1);
      last.set_value(served);
    });
  }

  std::promise<void> started;
  std::promise<void> go;
  std::promise<std::vector<uid_t>> last;
  std::vector<uid_t> served;  // of the jobs' thread
  IdleJobs jobs;
};

TEST_CASE("users take turns with their idle jobs") {
  Line line({});
  for (const uid_t uid : {1, 1, 2}) line.Add(uid, 0);
  CHECK(line.Finish(2) == std::vector<uid_t>{1, 2, 1});
}

TEST_CASE("idle jobs of a user are bounded in number and in what they keep, others' are not") {
  Line line({.waiting_per_uid = 2, .bytes_per_uid = 100, .waiting = 256});
  for (int i = 0; i < 3; ++i) line.Add(1, 0);
  line.Add(2, 101);
  line.Add(3, 60);
  line.Add(3, 60);
  line.Add(4, 100);
  CHECK(line.Finish(4) == std::vector<uid_t>{1, 3, 4, 1});
}

TEST_CASE("the end of the daemon stops the job that runs and drops those that wait") {
  std::promise<void> started;
  std::atomic<int> ran{0};
  {
    IdleJobs jobs({}, [] { return size_t{0}; });
    jobs.Add(Account(1), 0, [&](const std::stop_token& stop) {
      ++ran;
      started.set_value();
      while (!stop.stop_requested()) std::this_thread::yield();
    });
    jobs.Add(Account(1), 0, [&](std::stop_token) { ++ran; });
    REQUIRE(started.get_future().wait_for(kPatience) == std::future_status::ready);
  }
  CHECK(ran == 1);
}

}  // namespace
}  // namespace cccl_cache::daemon
