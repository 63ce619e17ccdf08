// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "daemon/store/database.h"

namespace cccl_cache::daemon {

/// Removes rows that users of containers left in an earlier run of the daemon. The numbers of these
/// users may belong to other users now (docs/internals/decisions/0067). Also removes the rows in
/// which earlier versions kept the order of private entries. Only one thread may use it at a time.
class RowsOfEarlierContainers {
 public:
  /// Drops the rows. Must be called for each database before its first use. Does nothing after the
  /// first success, because later databases have no such rows. After an error the database must not
  /// be used.
  [[nodiscard]] std::optional<DatabaseError> DropOnce(Database& database);

 private:
  bool done_ = false;
};

}  // namespace cccl_cache::daemon
