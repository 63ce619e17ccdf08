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

/// The directory of everything that outlives the daemon. It has mode 0700, and is locked for this
/// process while the object lives. Immutable, but SetDatabaseAside must not run on two threads at
/// once.
class StateDirectory {
 public:
  /// Creates the directory if it is missing. The error names the path, the uid and the remedy.
  static Result<std::unique_ptr<StateDirectory>> Open(const std::string& path);
  ~StateDirectory();
  StateDirectory(const StateDirectory&) = delete;
  StateDirectory& operator=(const StateDirectory&) = delete;

  [[nodiscard]] std::string database_path() const { return path_ + "/database"; }
  /// Returns the path to which an unusable database is moved. Its former contents are deleted, so
  /// that a disk does not fill with old databases.
  [[nodiscard]] std::string set_aside_path() const { return path_ + "/database.set-aside"; }

  /// Counts this run of a daemon and syncs the count. The number is greater than that of every
  /// earlier run, even if that run crashed or lost its database. Call it once per object.
  [[nodiscard]] Result<uint64_t> CountRun() const;
  /// Moves the closed database to set_aside_path().
  Status SetDatabaseAside() const;

 private:
  StateDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;  ///< owned descriptor; the kernel releases the lock when the process ends
};

/// Reports an event to the log, in one sentence. Called on any thread.
using Report = std::function<void(std::string_view)>;

struct OpenedDatabase {
  std::unique_ptr<Database> database;  ///< null: the disk is full
  /// Records were skipped, so the running totals must be recounted.
  bool totals_uncertain = false;
  std::optional<DatabaseError> failure = std::nullopt;  ///< why there is no database
};

/// Opens the directory's database. If its write-ahead log is damaged, the damaged writes are lost.
/// If it is damaged otherwise, or has another format, it is set aside and replaced by a new one.
/// Both are reported. Errors are those of the disk, such as no permission. No other Database may be
/// open on the directory.
[[nodiscard]] Result<OpenedDatabase> OpenDatabase(const StateDirectory& directory,
                                                  const DatabaseOptions& options,
                                                  const Report& report);

}  // namespace cccl_cache::daemon
