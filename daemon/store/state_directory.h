// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/model/result.h"
#include "daemon/store/database.h"

namespace cccl_cache::daemon {

/// The directory that holds everything that outlives the daemon, locked for this process as long as
/// the object lives: mode 0700, one daemon at a time. Immutable, but SetDatabaseAside is not to be
/// called by two threads.
class StateDirectory {
 public:
  /// Makes it if it is not there. The error names the path, the uid and the way out.
  static Result<std::unique_ptr<StateDirectory>> Open(const std::string& path);
  ~StateDirectory();
  StateDirectory(const StateDirectory&) = delete;
  StateDirectory& operator=(const StateDirectory&) = delete;

  [[nodiscard]] std::string database_path() const { return path_ + "/database"; }
  /// Where a database goes that can't be used. There is one place, so that disks don't fill with
  /// old ones: what lay there before is deleted.
  [[nodiscard]] std::string set_aside_path() const { return path_ + "/database.set-aside"; }

  /// Counts this run of a daemon here, on the disk before it returns: greater than that of each run
  /// before, whatever became of them and of their database. Once an object.
  [[nodiscard]] Result<uint64_t> CountRun() const;
  /// Moves the database out of the way. It must be closed.
  Status SetDatabaseAside() const;

 private:
  StateDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;  ///< file descriptor, owned; the kernel drops the lock however the process ends
};

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
