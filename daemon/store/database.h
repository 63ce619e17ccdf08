// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rocksdb {
struct DBOptions;
struct ColumnFamilyOptions;
}  // namespace rocksdb

namespace cccl_cache::daemon {

/// The column families, in the order in which the database opens them.
/// docs/internals/entry-format.md says what is in each.
enum class Column : uint8_t {
  kArtifacts,
  kManifests,
  kDeposits,
  kPrivate,
  kUsage,
  kMeta,
  kAnswered,
  kPrivateUsage,
  kPrivateOrder
};

/// Why the database did not do something.
struct DatabaseError {
  enum class Kind : uint8_t {
    kDamaged,        ///< what is on disk can't be read or makes no sense
    kForeignFormat,  ///< written by a version that this one does not understand
    kDiskFull,
    kUnavailable,  ///< anything else: permissions, I/O errors
  };
  Kind kind = Kind::kUnavailable;
  std::string message;
};

/// One change: a value put, or with none the key deleted.
struct ColumnWrite {
  Column column = Column::kMeta;
  std::string key;
  std::optional<std::string> value;
};

struct DatabaseOptions {
  uint64_t limit_bytes = 0;  ///< of the artifacts: sizes files and buffers
  uint64_t cache_bytes = 0;
  /// Skips what is damaged in the log of latest writes instead of refusing to open.
  bool skip_damaged_log = false;
};

/// RocksDB, and the only part of the daemon that knows it. Thread-safe. Closed by the destructor:
/// what was written is then on the disk.
class Database {
 public:
  /// kDamaged will not get better; kFailed may (no file descriptors, an I/O error).
  enum class Found : uint8_t { kYes, kNo, kDamaged, kFailed };
  /// Sees a key and its value, valid during the call. False ends the scan.
  using Visitor = std::function<bool(std::string_view key, std::string_view value)>;

  /// Makes it if nothing is there. Does not look at what is stored in it.
  static std::variant<std::unique_ptr<Database>, DatabaseError> Open(
      const std::string& path, const DatabaseOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// `use` sees the value if there is one.
  Found Read(Column column, std::string_view key,
             const std::function<void(std::string_view value)>& use);

  /// All or nothing, also when the process dies. Survives the process when it returns, not the
  /// machine.
  [[nodiscard]] std::optional<DatabaseError> Write(std::span<const ColumnWrite> writes);

  /// Visits keys in order, starting with the first that is not below `from`.
  [[nodiscard]] std::optional<DatabaseError> Scan(Column column, std::string_view from,
                                                  const Visitor& visit);

  /// Puts what was written on the disk, so that it survives the machine and opens quickly.
  [[nodiscard]] std::optional<DatabaseError> Flush();
  /// After a failed write: whether writing may be tried again.
  [[nodiscard]] std::optional<DatabaseError> Resume();

 private:
  class Impl;
  explicit Database(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

/// The place where readers find the database, which the writer may have to close and open anew
/// while they run. Thread-safe.
class DatabaseSlot {
 public:
  DatabaseSlot() = default;
  ~DatabaseSlot() { Close(); }
  DatabaseSlot(const DatabaseSlot&) = delete;
  DatabaseSlot& operator=(const DatabaseSlot&) = delete;

  /// Null while there is none. Holding it keeps it open: for one operation only.
  [[nodiscard]] std::shared_ptr<Database> Get() const;
  /// The slot must be empty.
  void Set(std::unique_ptr<Database> database);
  /// Empties the slot and returns when the last reader has let go and the database is closed.
  void Close();

 private:
  mutable std::mutex mutex_;
  std::condition_variable closed_;
  std::shared_ptr<Database> database_;  ///< guarded by mutex_
  bool open_ = false;                   ///< until the database is destroyed; guarded by mutex_
};

/// How RocksDB is set up, for database.cc alone: two cores, bounded memory, files and log, quick to
/// open.
[[nodiscard]] rocksdb::DBOptions ProcessOptions(const DatabaseOptions& options);

/// The column families by name, RocksDB's obligatory "default" first, then in the order of Column.
[[nodiscard]] std::vector<std::pair<std::string, rocksdb::ColumnFamilyOptions>> Columns(
    const DatabaseOptions& options);

}  // namespace cccl_cache::daemon
