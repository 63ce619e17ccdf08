// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/store/artifact_table.h"
#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon {
namespace {

using store_test::Key;

TEST_CASE("uses are counted per key and taken once") {
  UsageLedger ledger;
  ledger.Used(Key(1));
  ledger.Used(Key(1));
  ledger.Used(Key(2));
  const auto pending = ledger.Take();
  CHECK(pending.at(Key(1)).hits == 2);
  CHECK(pending.at(Key(2)).hits == 1);
  CHECK(pending.at(Key(1)).last.time_since_epoch().count() > 1'700'000'000);
  CHECK(ledger.Take().empty());
}

TEST_CASE("the ledger is bounded, and what is in it is still counted when it is full") {
  UsageLedger ledger;
  for (int i = 0; i < 20'000; ++i) ledger.Used(Key(i));
  ledger.Used(Key(0));
  const auto pending = ledger.Take();
  CHECK(pending.size() == 16'384);
  CHECK(pending.at(Key(0)).hits == 2);
}

}  // namespace
}  // namespace cccl_cache::daemon
