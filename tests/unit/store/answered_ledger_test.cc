// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "daemon/core/model/peer.h"
#include "daemon/store/answer_log.h"
#include "tests/unit/store/store_scene.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::seconds;
using store_test::Key;

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 0x12345678;

AnsweredBuild Build(uint64_t number, int64_t last = 100) {
  return {Key(number), Key(number + 1'000'000),
          Key(13),     "13.0",
          "sm_90",     std::chrono::sys_seconds(seconds(last))};
}

TEST_CASE("what was answered is there at once, and after a restart") {
  store_test::StoreScene store;
  store->answered().Note(kAlice, Build(2));
  store->answered().Note(kAlice, Build(1));
  store->answered().Note(kBob, Build(3));
  std::vector<AnsweredBuild> expected = {Build(1), Build(2)};
  std::ranges::sort(expected, {}, &AnsweredBuild::key);
  for (int opening = 0; opening < 2; ++opening) {
    CHECK(store->answered().Of(kAlice) == expected);
    CHECK(store->answered().Of(kBob) == std::vector{Build(3)});
    CHECK(store->answered().Of(7).empty());
    CHECK(store->answered().Has(kAlice, Key(2)));
    CHECK_FALSE(store->answered().Has(kAlice, Key(3)));
    CHECK_FALSE(store->answered().Has(7, Key(2)));
    CHECK(store->answered().Users() == std::vector{kAlice, kBob});
    store.Reopen();
  }
}

TEST_CASE("the later of two answers counts") {
  store_test::StoreScene store;
  store->answered().Note(kAlice, Build(1, 100));
  store.Reopen();
  store->answered().Note(kAlice, Build(1, 200));
  CHECK(store->answered().Of(kAlice) == std::vector{Build(1, 200)});
  store.Reopen();
  CHECK(store->answered().Of(kAlice) == std::vector{Build(1, 200)});
}

TEST_CASE("nothing is noted of the overflow uid") {
  store_test::StoreScene store;
  store->answered().Note(kOverflowUid, Build(1));
  CHECK(store->answered().Users().empty());
}

}  // namespace
}  // namespace cccl_cache::daemon
