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

/// The directory of all data that outlive the daemon. Its mode is 0700, and it is locked for this
/// process while the object exists. Immutable, except that only one thread at a time may call
/// SetDatabaseAside.
class StateDirectory {
 public:
  /// Makes the directory if it is missing, and locks it. The error's text names the path, the uid
  /// and the remedy.
  static Result<std::unique_ptr<StateDirectory>> Open(const std::string& path);
  ~StateDirectory();
  StateDirectory(const StateDirectory&) = delete;
  StateDirectory& operator=(const StateDirectory&) = delete;

  [[nodiscard]] std::string database_path() const { return path_ + "/database"; }
  /// Returns the path to which SetDatabaseAside moves an unusable database. A database that was
  /// moved there earlier is deleted then, so that old databases do not fill the disk.
  [[nodiscard]] std::string set_aside_path() const { return path_ + "/database.set-aside"; }

  /// Increases the number of runs in the directory, syncs it to the disk, and returns it. The
  /// result is greater than in every earlier run, even if that run crashed or lost its database.
  /// Must be called only once per object.
  [[nodiscard]] Result<uint64_t> CountRun() const;
  /// Moves the database to set_aside_path(). It must be closed.
  Status SetDatabaseAside() const;

 private:
  StateDirectory(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;  ///< descriptor of the lock file; owned. A crash releases the lock, too.
};

/// A function that gets an event for the log, as one sentence. It may be called on any thread.
using Report = std::function<void(std::string_view)>;

struct OpenedDatabase {
  std::unique_ptr<Database> database;  ///< null if the disk is full
  /// If true, damaged writes were skipped, so the stored totals may be wrong and must be recounted.
  bool totals_uncertain = false;
  std::optional<DatabaseError> failure = std::nullopt;  ///< the reason if `database` is null
};

/// Opens the database in the directory, and makes it if there is none. If its write-ahead log is
/// damaged, the damaged writes are lost. If the database is damaged otherwise, or has another
/// format, it is moved to set_aside_path() and replaced by a new one. Both cases are reported.
/// Returns an error if the disk fails or a permission is missing. No other Database of the
/// directory may be open.
[[nodiscard]] Result<OpenedDatabase> OpenDatabase(const StateDirectory& directory,
                                                  const DatabaseOptions& options,
                                                  const Report& report);

}  // namespace cccl_cache::daemon
