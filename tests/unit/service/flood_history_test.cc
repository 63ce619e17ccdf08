// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/flood_history.h"

#include <catch2/catch.hpp>
#include <chrono>

namespace cccl_cached {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr uid_t kUser = 1000;

struct History {
  FloodHistory::Clock::time_point now{1'000s};
  FloodHistory floods{[this] { return now; }};

  [[nodiscard]] bool MayConnect(uid_t uid = kUser) { return floods.Admit(Account(uid)) != nullptr; }
  void CutOff(int times) {
    for (int i = 0; i < times; ++i) floods.NoteCutOff(Account(kUser));
  }
};

TEST_CASE("a user whose connections are cut off again and again has to pause, ever longer") {
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

TEST_CASE("another user does not have to pause") {
  History history;
  history.CutOff(10);
  CHECK_FALSE(history.MayConnect());
  CHECK(history.MayConnect(kUser + 1));
}

TEST_CASE("cut off connections are forgotten after two minutes without one") {
  History history;
  history.CutOff(1'000);
  history.now += 120s;
  history.floods.Forget();
  history.CutOff(3);
  CHECK(history.MayConnect());
}

TEST_CASE("connections of one user have one allowance as long as one of them is open") {
  History history;
  const auto first = history.floods.Admit(Account(kUser));
  history.now += 1'000s;
  history.floods.Forget();
  CHECK(history.floods.Admit(Account(kUser)) == first);
  CHECK(history.floods.Admit(Account(kUser + 1)) != first);
}

}  // namespace
}  // namespace cccl_cached
