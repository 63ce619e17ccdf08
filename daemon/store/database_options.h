// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "daemon/store/database.h"

namespace rocksdb {
struct DBOptions;
struct ColumnFamilyOptions;
}  // namespace rocksdb

namespace cccl_cache::daemon {

/// How RocksDB is set up, for database.cc alone: two cores, bounded memory, files and log, quick to
/// open.
[[nodiscard]] rocksdb::DBOptions ProcessOptions(const DatabaseOptions& options);

/// The column families by name, RocksDB's obligatory "default" first, then in the order of Column.
[[nodiscard]] std::vector<std::pair<std::string, rocksdb::ColumnFamilyOptions>> Columns(
    const DatabaseOptions& options);

}  // namespace cccl_cache::daemon
