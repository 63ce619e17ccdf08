// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/result.h"

namespace rocksdb {
struct DBOptions;
struct ColumnFamilyOptions;
}  // namespace rocksdb

namespace cccl_cache::daemon {

/// The column families, in the order in which the database opens them.
/// docs/internals/entry-format.md describes the rows of each.
enum class Column : uint8_t {
  kArtifacts,
  kManifests,
  kDeposits,
  kPrivate,
  kUsage,
  kMeta,
  kAnswered,
  kPrivateUsage,
  kPrivateOrder,  ///< of earlier versions
};

/// The reason why a database operation failed.
struct DatabaseError {
  enum class Kind : uint8_t {
    kDamaged,        ///< the data on disk can't be read or makes no sense
    kForeignFormat,  ///< written by a version whose format this one does not understand
    kDiskFull,
    kUnavailable,  ///< anything else: permissions, I/O errors
  };
  Kind kind = Kind::kUnavailable;
  std::string message;
};

/// Converts a failed database read to the error for the caller.
[[nodiscard]] Error CannotRead(const DatabaseError& error);

/// One change: puts the value, or deletes the key if there is no value.
struct ColumnWrite {
  Column column = Column::kMeta;
  std::string key;
  std::optional<std::string> value;
};

struct DatabaseOptions {
  uint64_t limit_bytes = 0;  ///< limit of the artifacts; sizes files and buffers
  uint64_t cache_bytes = 0;
  /// Skips damaged records in the write-ahead log instead of refusing to open.
  bool skip_damaged_log = false;
};

/// The adapter to RocksDB, the only files that include it. Thread-safe. The destructor writes
/// everything to the disk and closes the database.
class Database {
 public:
  /// kDamaged is permanent; kFailed may be temporary (no file descriptors, an I/O error).
  enum class Found : uint8_t { kYes, kNo, kDamaged, kFailed };
  /// Receives a key and its value, valid during the call. Returns false to end the scan.
  using Visitor = std::function<bool(std::string_view key, std::string_view value)>;

  /// Opens the database, or creates it if there is none. Does not check the stored rows.
  static std::variant<std::unique_ptr<Database>, DatabaseError> Open(
      const std::string& path, const DatabaseOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Calls `use` with the value if there is one.
  Found Read(Column column, std::string_view key,
             const std::function<void(std::string_view value)>& use) {
    return ReadRow(column, key, use, /*cache=*/true);
  }
  /// Like Read, but keeps nothing in RocksDB's cache.
  Found ReadOnce(Column column, std::string_view key,
                 const std::function<void(std::string_view value)>& use) {
    return ReadRow(column, key, use, /*cache=*/false);
  }
  /// Empties RocksDB's cache, so that the next reads come from the files.
  void DropCache();
  /// Frees the disk space of deleted rows. Takes longer the more rows are left. A stop request ends
  /// it with an error.
  [[nodiscard]] std::optional<DatabaseError> Compact(Column column, const std::stop_token& stop);

  /// Returns the bytes of a column's files, including deleted rows that still take space.
  [[nodiscard]] uint64_t FileBytes(Column column);
  /// Rewrites the oldest sixteenth of the blob files, and leaves out the deleted values. It takes
  /// as long as writing that much, and needs as much extra disk space while it runs.
  [[nodiscard]] std::optional<DatabaseError> CollectGarbage(Column column);
  /// Ends CollectGarbage and Compact, now and for good.
  void StopCollecting();

  /// Writes all changes or none. When it returns, they survive a crash of the process, but not of
  /// the machine.
  [[nodiscard]] std::optional<DatabaseError> Write(std::span<const ColumnWrite> writes);

  /// Visits keys in order, starting with the first that is not below `from`.
  [[nodiscard]] std::optional<DatabaseError> Scan(Column column, std::string_view from,
                                                  const Visitor& visit);

  /// Syncs all writes to the disk, so that they survive a crash of the machine and the database
  /// opens quickly.
  [[nodiscard]] std::optional<DatabaseError> Flush();
  /// After a failed write: returns none if writing may be tried again.
  [[nodiscard]] std::optional<DatabaseError> Resume();

 private:
  class Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  Found ReadRow(Column column, std::string_view key,
                const std::function<void(std::string_view value)>& use, bool cache);

  std::unique_ptr<Impl> impl_;
};

/// Holds the open database for its readers, and lets the writer close and reopen it while they run.
/// Thread-safe.
class DatabaseSlot {
 public:
  DatabaseSlot() = default;
  ~DatabaseSlot() { Close(); }
  DatabaseSlot(const DatabaseSlot&) = delete;
  DatabaseSlot& operator=(const DatabaseSlot&) = delete;

  /// Returns null while there is no database. The pointer keeps the database open: hold it for one
  /// operation only.
  [[nodiscard]] std::shared_ptr<Database> Get() const;
  /// The slot must be empty.
  void Set(std::unique_ptr<Database> database);
  /// Records why writes fail, or why there is no database; none if the last write succeeded.
  void SetFailure(std::optional<DatabaseError> failure);
  /// Returns the message of the failure, or "".
  [[nodiscard]] std::string failure() const;
  /// Returns the error for a call that finds no database.
  [[nodiscard]] Error WhyEmpty() const;
  /// Empties the slot. Returns once the last reader has released the database and it is closed.
  void Close();

 private:
  mutable Mutex mutex_;
  CondVar closed_;
  std::shared_ptr<Database> database_ GUARDED_BY(mutex_);
  bool open_ GUARDED_BY(mutex_) = false;  ///< true until the database is destroyed
  std::optional<DatabaseError> failure_ GUARDED_BY(mutex_);
};

/// Returns RocksDB's settings, for database.cc only: two threads, bounded memory, files and log.
[[nodiscard]] rocksdb::DBOptions ProcessOptions(const DatabaseOptions& options);

/// Returns the column families by name: RocksDB's obligatory "default" first, then in the order of
/// Column.
[[nodiscard]] std::vector<std::pair<std::string, rocksdb::ColumnFamilyOptions>> Columns(
    const DatabaseOptions& options);

}  // namespace cccl_cache::daemon
