// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "daemon/store/database.h"

namespace cccl_cache::daemon {

/// The rows that users of containers left in an earlier run. Their numbers may belong to other
/// users now (docs/internals/decisions/0067). Used by one thread at a time.
class RowsOfEarlierContainers {
 public:
  /// Drops them from the first database that is opened in this run, before it is used. Does nothing
  /// for later databases, whose rows are of this run. After an error the database must not be used.
  [[nodiscard]] std::optional<DatabaseError> DropOnce(Database& database);

 private:
  bool done_ = false;
};

}  // namespace cccl_cache::daemon
