// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "daemon/core/model/tier.h"
#include "daemon/store/answered_table.h"
#include "daemon/store/database_slot.h"

namespace cccl_cache::daemon {

/// Answered builds: those in the database, and those that are to be written there. Bounded: what
/// does not fit before the next write is forgotten until it is answered again. Thread-safe.
class AnsweredLedger final : public AnsweredBuilds {
 public:
  explicit AnsweredLedger(DatabaseSlot& slot) : slot_(slot) {}

  void Note(uid_t uid, AnsweredBuild build) override;
  bool Has(uid_t uid, const cccl_cache::Digest& key) override;
  std::vector<AnsweredBuild> Of(uid_t uid) override;
  std::vector<uid_t> Users() override;

  /// For the writer: what is to be written. The same again, and what came since, until it was
  /// Written. Valid until the next call.
  [[nodiscard]] const AnsweredTable::Rows& Next();
  void Written();

 private:
  DatabaseSlot& slot_;
  std::mutex mutex_;
  AnsweredTable::Rows waiting_;  ///< guarded by mutex_
  /// Changed under mutex_ and by the writer only, so the writer may read it without.
  AnsweredTable::Rows writing_;
};

}  // namespace cccl_cache::daemon
