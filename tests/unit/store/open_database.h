// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "daemon/store/database.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon::store_test {

/// A database of one test. A failure fails the test.
class OpenDatabase {
 public:
  OpenDatabase() { Reopen(); }

  void Reopen() {
    database_.reset();
    auto opened = Database::Open(path(), {.limit_bytes = 16 << 20});
    REQUIRE(std::holds_alternative<std::unique_ptr<Database>>(opened));
    database_ = std::move(std::get<0>(opened));
  }
  void Put(Column column, std::string key, std::optional<std::string> value) {
    const ColumnWrite write{column, std::move(key), std::move(value)};
    REQUIRE_FALSE(database_->Write({&write, 1}));
  }
  [[nodiscard]] std::optional<std::string> Get(Column column, const std::string& key) {
    std::optional<std::string> value;
    const auto found = database_->Read(column, key, [&](std::string_view bytes) { value = bytes; });
    REQUIRE(found == (value ? Database::Found::kYes : Database::Found::kNo));
    return value;
  }
  /// Returns the keys in order.
  [[nodiscard]] std::string Keys(Column column, const std::string& from = "") {
    std::string keys;
    REQUIRE_FALSE(database_->Scan(column, from, [&](std::string_view key, std::string_view) {
      keys.append(key).append(" ");
      return true;
    }));
    return keys;
  }

  [[nodiscard]] std::string path() const { return directory_ / "database"; }
  Database& operator*() { return *database_; }
  std::unique_ptr<Database> Release() { return std::move(database_); }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<Database> database_;
};

}  // namespace cccl_cache::daemon::store_test
