// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "tests/unit/store/store_fixtures.h"

namespace cccl_cache::daemon::store_test {

/// A store in a new state directory. Statistics and reports are those of all openings. A store that
/// does not open fails the test.
class StoreScene {
 public:
  explicit StoreScene(RocksdbStoreOptions options = {}) { Reopen(std::move(options)); }

  void Reopen(RocksdbStoreOptions options = {}) {
    Close();
    options.directory = state();
    options.report = reports.Sink();
    store_ = OpenOrNull(std::move(options), statistics);
    REQUIRE(store_);
  }
  void Close() { store_.reset(); }

  [[nodiscard]] std::string state() const { return directory_ / "state"; }
  RocksdbStore* operator->() { return store_.get(); }
  RocksdbStore& operator*() { return *store_; }
  [[nodiscard]] bool WaitForEntries(size_t count) {
    return WaitUntil([&] { return store_->size().entries == count; });
  }

  Statistics statistics;
  Reports reports;

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<RocksdbStore> store_;
};

}  // namespace cccl_cache::daemon::store_test
