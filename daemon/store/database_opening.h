// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "daemon/core/model/result.h"
#include "daemon/store/database.h"
#include "daemon/store/state_directory.h"

namespace cccl_cache::daemon {

/// Tells an event to the log, one sentence. Called on any thread.
using Report = std::function<void(std::string_view)>;

struct OpenedDatabase {
  std::unique_ptr<Database> database;  ///< null: the disk is full
  /// Something was skipped: running totals may be off and are to be counted anew.
  bool totals_uncertain = false;
  std::optional<DatabaseError> failure = std::nullopt;  ///< why there is no database
};

/// The directory's database, whatever state it is in: one whose latest writes are damaged opens
/// without those; one that does not open for damage or is of another format is set aside, and a new
/// one is made. Both are reported. Errors are those of the disk, such as no permission. No other
/// Database may be open on it.
[[nodiscard]] Result<OpenedDatabase> OpenDatabase(const StateDirectory& directory,
                                                  DatabaseOptions options, const Report& report);

}  // namespace cccl_cache::daemon
