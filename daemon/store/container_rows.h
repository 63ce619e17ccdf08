// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "daemon/store/database.h"

namespace cccl_cache::daemon {

/// The rows that users of containers left in an earlier run of the daemon. Their uids may belong to
/// other users now (docs/internals/decisions/0067). Also the order of private entries, which
/// earlier versions kept in rows. Used by one thread at a time.
class RowsOfEarlierContainers {
 public:
  /// Drops the rows from the first database that is opened in this run, before its first use. Later
  /// databases of this run have no such rows. After an error the database must not be used.
  [[nodiscard]] std::optional<DatabaseError> DropOnce(Database& database);

 private:
  bool done_ = false;
};

}  // namespace cccl_cache::daemon
