// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/flood_history.h"

#include <catch2/catch.hpp>
#include <chrono>

namespace cccl_cache::daemon::flood_history_test {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr uid_t kUser = 1000;

struct History {
  FloodHistory::Clock::time_point now{1'000s};
  FloodHistory floods{TrafficLimits{}, [this] { return now; }};

  [[nodiscard]] bool MayConnect(uid_t uid = kUser) {
    return floods.Admit(Account(uid), uid) != nullptr;
  }
  void CutOff(int times) {
    for (int i = 0; i < times; ++i) floods.NoteCutOff(Account(kUser), kUser);
  }
};

TEST_CASE("a user pauses ever longer after repeated cut-offs") {
  History history;
  history.CutOff(3);
  CHECK(history.MayConnect());
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 64s}) {
    history.CutOff(1);
    history.now += pause - 1ms;
    CHECK_FALSE(history.MayConnect());
    history.now += 1ms;
    CHECK(history.MayConnect());
  }
}

TEST_CASE("a user's connections are limited at once and per second, independent of other users") {
  History history;
  const auto count = [&history] {
    int connections = 0;
    while (history.MayConnect()) ++connections;
    return connections;
  };
  CHECK(count() == 1'100);
  CHECK(history.MayConnect(kUser + 1));
  history.now += 1s;
  CHECK(count() == 1'000);
}

TEST_CASE("a user's cut-offs affect no other user") {
  History history;
  history.CutOff(10);
  CHECK_FALSE(history.MayConnect());
  CHECK(history.MayConnect(kUser + 1));
}

TEST_CASE("a cut-off uid pauses alone; after many such uids the whole account pauses") {
  History history;
  const auto may_connect = [&history](uid_t uid) {
    return history.floods.Admit(Account::OfNameless(), uid) != nullptr;
  };
  for (uid_t uid = 1; uid < 8; ++uid) {
    for (int i = 0; i < 4; ++i) history.floods.NoteCutOff(Account::OfNameless(), uid);
  }
  CHECK_FALSE(may_connect(7));
  CHECK(may_connect(8));
  history.floods.NoteCutOff(Account::OfNameless(), 8);
  CHECK_FALSE(may_connect(9));
  history.now += 64s;
  CHECK(may_connect(9));
  history.now += 60s;
  history.floods.Forget();
  history.floods.NoteCutOff(Account::OfNameless(), 9);
  CHECK(may_connect(10));
}

TEST_CASE("cut-offs are forgotten after two minutes without one") {
  History history;
  history.CutOff(1'000);
  history.now += 120s;
  history.floods.Forget();
  history.CutOff(3);
  CHECK(history.MayConnect());
}

TEST_CASE("the connections of a user share one UserTraffic while one of them is open") {
  History history;
  const auto first = history.floods.Admit(Account(kUser), kUser);
  history.now += 1'000s;
  history.floods.Forget();
  CHECK(history.floods.Admit(Account(kUser), kUser) == first);
  CHECK(history.floods.Admit(Account(kUser + 1), kUser + 1) != first);
}

}  // namespace
}  // namespace cccl_cache::daemon::flood_history_test
