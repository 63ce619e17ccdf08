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

/// The column families of the database, in the order in which they are opened. Their rows are
/// described in docs/internals/entry-format.md.
enum class Column : uint8_t {
  kArtifacts,
  kManifests,
  kDeposits,
  kPrivate,
  kUsage,
  kMeta,
  kAnswered,
  kPrivateUsage,
  kPrivateOrder,  ///< only earlier versions wrote rows here
};

/// The reason why a database operation failed.
struct DatabaseError {
  enum class Kind : uint8_t {
    kDamaged,        ///< the data on the disk can't be read or are inconsistent
    kForeignFormat,  ///< another version wrote the data in a format that this one does not know
    kDiskFull,
    kUnavailable,  ///< anything else: permissions, I/O errors
  };
  Kind kind = Kind::kUnavailable;
  std::string message;
};

/// Returns the error for a caller whose read of the database failed with `error`.
[[nodiscard]] Error CannotRead(const DatabaseError& error);

/// One change of a row: stores the value, or deletes the row if `value` is none.
struct ColumnWrite {
  Column column = Column::kMeta;
  std::string key;
  std::optional<std::string> value;
};

struct DatabaseOptions {
  uint64_t limit_bytes = 0;  ///< limit of the artifacts; sizes of files and buffers follow from it
  uint64_t cache_bytes = 0;
  /// If true, damaged records in the write-ahead log are skipped. If false, Open fails on them.
  bool skip_damaged_log = false;
};

/// A RocksDB database. Only database.h and database.cc use RocksDB. The destructor writes
/// everything to the disk and closes the database. Thread-safe.
class Database {
 public:
  /// The result of a read. kDamaged: the row can never be read. kFailed: a later read may succeed,
  /// for example after an I/O error or a lack of file descriptors.
  enum class Found : uint8_t { kYes, kNo, kDamaged, kFailed };
  /// Called with a key and its value, which are valid during the call. Returns false to end the
  /// scan.
  using Visitor = std::function<bool(std::string_view key, std::string_view value)>;

  /// Opens the database, and creates it if there is none. Does not check the stored rows.
  static std::variant<std::unique_ptr<Database>, DatabaseError> Open(
      const std::string& path, const DatabaseOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Calls `use` with the value if the key exists.
  Found Read(Column column, std::string_view key,
             const std::function<void(std::string_view value)>& use) {
    return ReadRow(column, key, use, /*cache=*/true);
  }
  /// Like Read, but does not put the value into RocksDB's cache.
  Found ReadOnce(Column column, std::string_view key,
                 const std::function<void(std::string_view value)>& use) {
    return ReadRow(column, key, use, /*cache=*/false);
  }
  /// Empties RocksDB's cache, so that the next reads come from the files.
  void DropCache();
  /// Frees the disk space of deleted rows. The time grows with the number of remaining rows. If
  /// `stop` is requested, the call ends with an error.
  [[nodiscard]] std::optional<DatabaseError> Compact(Column column, const std::stop_token& stop);

  /// Returns the size in bytes of the column's files. Deleted rows count until their files are
  /// rewritten.
  [[nodiscard]] uint64_t FileBytes(Column column);
  /// Rewrites the oldest sixteenth of the column's blob files without the deleted values. The call
  /// takes as long as writing the remaining values, and needs disk space for them while it runs.
  [[nodiscard]] std::optional<DatabaseError> CollectGarbage(Column column);
  /// Ends running calls of CollectGarbage and Compact. Later calls end at once.
  void StopCollecting();

  /// Makes all changes or none. After the return, the changes survive a crash of the process, but
  /// not of the machine.
  [[nodiscard]] std::optional<DatabaseError> Write(std::span<const ColumnWrite> writes);

  /// Calls `visit` for each key in ascending order, starting with the first key that is not less
  /// than `from`.
  [[nodiscard]] std::optional<DatabaseError> Scan(Column column, std::string_view from,
                                                  const Visitor& visit);

  /// Writes all changes to the disk. They then survive a crash of the machine, and the next start
  /// has no log to replay.
  [[nodiscard]] std::optional<DatabaseError> Flush();
  /// Must be called after a failed write. Returns none if writes may be tried again.
  [[nodiscard]] std::optional<DatabaseError> Resume();

 private:
  class Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  Found ReadRow(Column column, std::string_view key,
                const std::function<void(std::string_view value)>& use, bool cache);

  std::unique_ptr<Impl> impl_;
};

/// Gives readers access to the open database, and lets the writer close and reopen it while readers
/// run. Thread-safe.
class DatabaseSlot {
 public:
  DatabaseSlot() = default;
  ~DatabaseSlot() { Close(); }
  DatabaseSlot(const DatabaseSlot&) = delete;
  DatabaseSlot& operator=(const DatabaseSlot&) = delete;

  /// Returns the database, or null if none is open. The pointer keeps the database open, so a
  /// caller must hold it for one operation only.
  [[nodiscard]] std::shared_ptr<Database> Get() const;
  /// Makes Get return this database. The slot must be empty.
  void Set(std::unique_ptr<Database> database);
  /// Sets the reason why writes fail or why there is no database. None: the last write succeeded.
  void SetFailure(std::optional<DatabaseError> failure);
  /// Returns the text that SetFailure was given last, or an empty text.
  [[nodiscard]] std::string failure() const;
  /// Returns the error for a caller to whom Get returned null.
  [[nodiscard]] Error WhyEmpty() const;
  /// Makes Get return null. Waits until the last reader has released the database and the database
  /// is closed.
  void Close();

 private:
  mutable Mutex mutex_;
  CondVar closed_;
  std::shared_ptr<Database> database_ GUARDED_BY(mutex_);
  bool open_ GUARDED_BY(mutex_) = false;  ///< becomes false when the database was destroyed
  std::optional<DatabaseError> failure_ GUARDED_BY(mutex_);
};

/// Returns RocksDB's settings for the process: two background threads, and limits for memory, open
/// files and log. For database.cc only.
[[nodiscard]] rocksdb::DBOptions ProcessOptions(const DatabaseOptions& options);

/// Returns the names and settings of the column families. The first is "default", which RocksDB
/// requires. The others are in the order of Column.
[[nodiscard]] std::vector<std::pair<std::string, rocksdb::ColumnFamilyOptions>> Columns(
    const DatabaseOptions& options);

}  // namespace cccl_cache::daemon
