// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/database.h"

#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdarg>
#include <memory>
#include <utility>
#include <vector>

namespace cccl_cache::daemon {
namespace {

std::string_view View(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }
rocksdb::Slice Slice(std::string_view view) { return {view.data(), view.size()}; }

DatabaseError Translate(const rocksdb::Status& status) {
  using Kind = DatabaseError::Kind;
  Kind kind = Kind::kUnavailable;
  if (status.IsCorruption() || status.IsPathNotFound()) {
    kind = Kind::kDamaged;
  } else if (status.IsInvalidArgument() || status.IsNotSupported()) {
    kind = Kind::kForeignFormat;  // this version lacks the database's column families or options
  } else if (status.IsNoSpace()) {
    kind = Kind::kDiskFull;
  }
  return {kind, status.ToString()};
}

std::optional<DatabaseError> Checked(const rocksdb::Status& status) {
  if (status.ok()) return std::nullopt;
  return Translate(status);
}

constexpr uint64_t kMiB = 1u << 20;
/// The part of the blob files that one call of CollectGarbage rewrites.
constexpr double kGarbageShare = 1.0 / 16;

/// Discards RocksDB's own log, which would be a file on the same disk. After a full disk, Debian's
/// build of RocksDB would abort the process at the next line of that log. All errors are in the
/// returned statuses anyway.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

/// Returns 1/32 of the database's limit, between `least` and `most` bytes. RocksDB's buffers and
/// files are this small, so that they and their garbage fit beside the values.
uint64_t Share(const DatabaseOptions& options, uint64_t least, uint64_t most) {
  return std::clamp(options.limit_bytes / 32, least, most);
}

rocksdb::ColumnFamilyOptions SmallValues(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, false));
  // Indexes and filters count in the block cache. Otherwise their memory would grow with the number
  // of entries.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  rocksdb::ColumnFamilyOptions column;
  column.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  column.compression = rocksdb::kZSTD;
  column.write_buffer_size = 4 * kMiB;
  column.max_write_buffer_number = 2;
  return column;
}

rocksdb::ColumnFamilyOptions LargeValues(const DatabaseOptions& options,
                                         const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions column = SmallValues(cache);
  column.write_buffer_size = Share(options, 1 * kMiB, 32 * kMiB);
  column.enable_blob_files = true;
  column.min_blob_size = 4096;
  column.blob_file_size = Share(options, 1 * kMiB, 256 * kMiB);
  column.blob_compression_type = rocksdb::kZSTD;
  column.blob_cache = cache;
  column.enable_blob_garbage_collection = true;
  column.blob_garbage_collection_age_cutoff = kGarbageShare;
  column.blob_garbage_collection_force_threshold = 0.5;
  return column;
}

}  // namespace

Error CannotRead(const DatabaseError& error) {
  return {ErrorCode::kUnavailable,
          fmt::format("the cache's database can't be read ({}): its log says what becomes of it",
                      error.message)};
}

class Database::Impl {
 public:
  Impl(std::unique_ptr<rocksdb::DB> db, std::vector<rocksdb::ColumnFamilyHandle*> columns,
       std::shared_ptr<rocksdb::Cache> cache)
      : db_(std::move(db)), columns_(std::move(columns)), cache_(std::move(cache)) {}

  ~Impl() {
    // A destructor can't return the error. Writes that are not on the disk now are lost, as in a
    // crash.
    Flush().PermitUncheckedError();
    for (rocksdb::ColumnFamilyHandle* column : columns_) {
      db_->DestroyColumnFamilyHandle(column).PermitUncheckedError();
    }
    db_->Close().PermitUncheckedError();
  }

  rocksdb::DB& db() { return *db_; }
  rocksdb::Cache& cache() { return *cache_; }
  rocksdb::ColumnFamilyHandle* Handle(Column column) {
    return columns_.at(static_cast<size_t>(column) + 1);  // index 0 is "default"
  }
  rocksdb::Status Flush() { return db_->Flush(rocksdb::FlushOptions(), columns_); }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> columns_;
  const std::shared_ptr<rocksdb::Cache> cache_;  ///< shared by all columns
};

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() = default;

std::variant<std::unique_ptr<Database>, DatabaseError> Database::Open(
    const std::string& path, const DatabaseOptions& options) {
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  std::shared_ptr<rocksdb::Cache> cache;
  for (auto& [name, column] : Columns(options)) {
    if (column.blob_cache != nullptr) cache = column.blob_cache;
    descriptors.emplace_back(name, column);
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(ProcessOptions(options), path, descriptors, &handles, &db);
  if (!status.ok()) return Translate(status);
  return std::unique_ptr<Database>(new Database(std::make_unique<Impl>(
      std::unique_ptr<rocksdb::DB>(db), std::move(handles), std::move(cache))));
}

Database::Found Database::ReadRow(Column column, std::string_view key,
                                  const std::function<void(std::string_view value)>& use,
                                  bool cache) {
  rocksdb::ReadOptions options;
  options.fill_cache = cache;
  rocksdb::PinnableSlice value;
  const rocksdb::Status status =
      impl_->db().Get(options, impl_->Handle(column), Slice(key), &value);
  if (status.IsNotFound()) return Found::kNo;
  if (!status.ok()) {
    const bool damaged = Translate(status).kind == DatabaseError::Kind::kDamaged;
    return damaged ? Found::kDamaged : Found::kFailed;
  }
  use(View(value));
  return Found::kYes;
}

std::optional<DatabaseError> Database::Write(std::span<const ColumnWrite> writes) {
  rocksdb::WriteBatch batch;
  for (const ColumnWrite& write : writes) {
    rocksdb::ColumnFamilyHandle* column = impl_->Handle(write.column);
    const rocksdb::Status status =
        write.value ? batch.Put(column, write.key, *write.value) : batch.Delete(column, write.key);
    if (!status.ok()) return Translate(status);
  }
  return Checked(impl_->db().Write(rocksdb::WriteOptions(), &batch));
}

std::optional<DatabaseError> Database::Scan(Column column, std::string_view from,
                                            const Visitor& visit) {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> iterator(
      impl_->db().NewIterator(options, impl_->Handle(column)));
  for (iterator->Seek(Slice(from)); iterator->Valid(); iterator->Next()) {
    if (!visit(View(iterator->key()), View(iterator->value()))) break;
  }
  return Checked(iterator->status());
}

void Database::DropCache() { impl_->cache().EraseUnRefEntries(); }

std::optional<DatabaseError> Database::Compact(Column column, const std::stop_token& stop) {
  std::atomic<bool> stopped{false};
  const std::stop_callback on_stop(stop, [&stopped] { stopped = true; });
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.canceled = &stopped;
  return Checked(impl_->db().CompactRange(options, impl_->Handle(column), nullptr, nullptr));
}

uint64_t Database::FileBytes(Column column) {
  uint64_t sum = 0;
  for (const auto* name : {&rocksdb::DB::Properties::kTotalSstFilesSize,
                           &rocksdb::DB::Properties::kTotalBlobFileSize}) {
    uint64_t bytes = 0;
    if (impl_->db().GetIntProperty(impl_->Handle(column), *name, &bytes)) sum += bytes;
  }
  return sum;
}

std::optional<DatabaseError> Database::CollectGarbage(Column column) {
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  options.blob_garbage_collection_policy = rocksdb::BlobGarbageCollectionPolicy::kForce;
  options.blob_garbage_collection_age_cutoff = kGarbageShare;
  const rocksdb::Status status =
      impl_->db().CompactRange(options, impl_->Handle(column), nullptr, nullptr);
  return status.IsIncomplete() ? std::nullopt : Checked(status);  // after StopCollecting
}

void Database::StopCollecting() { impl_->db().DisableManualCompaction(); }

std::optional<DatabaseError> Database::Flush() { return Checked(impl_->Flush()); }

std::optional<DatabaseError> Database::Resume() { return Checked(impl_->db().Resume()); }

std::shared_ptr<Database> DatabaseSlot::Get() const {
  const MutexLock lock(mutex_);
  return database_;
}

void DatabaseSlot::Set(std::unique_ptr<Database> database) {
  const auto close = [this](Database* last) {
    delete last;
    // The notification is sent while the lock is held. After the unlock, Close may return and the
    // slot may be destroyed.
    const MutexLock lock(mutex_);
    open_ = false;
    closed_.NotifyAll();
  };
  const MutexLock lock(mutex_);
  assert(!open_);
  open_ = true;
  database_ = std::shared_ptr<Database>(database.release(), close);
}

void DatabaseSlot::SetFailure(std::optional<DatabaseError> failure) {
  const MutexLock lock(mutex_);
  failure_ = std::move(failure);
}

std::string DatabaseSlot::failure() const {
  const MutexLock lock(mutex_);
  return failure_ ? failure_->message : "";
}

Error DatabaseSlot::WhyEmpty() const {
  using Kind = DatabaseError::Kind;
  const MutexLock lock(mutex_);
  // Without a failure, another thread has reopened the database after the caller's Get.
  if (!failure_) return {ErrorCode::kUnavailable, "the cache's database was closed: try again"};
  std::string_view state =
      "the cache's database can't be opened: repair the cause, and the daemon opens it again";
  if (failure_->kind == Kind::kDiskFull) {
    state =
        "the disk of the daemon's state directory is full: make room there, and the daemon opens "
        "the cache's database again";
  } else if (failure_->kind == Kind::kDamaged) {
    state = "the cache's database is damaged, and the daemon makes a new one: try again later";
  }
  return {ErrorCode::kUnavailable, fmt::format("{} ({})", state, failure_->message)};
}

void DatabaseSlot::Close() {
  std::shared_ptr<Database> last;
  {
    const MutexLock lock(mutex_);
    last = std::exchange(database_, nullptr);
  }
  last.reset();
  const MutexLock lock(mutex_);
  closed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return !open_; });
}

rocksdb::DBOptions ProcessOptions(const DatabaseOptions& options) {
  rocksdb::DBOptions db;
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  // Limits the log that must be replayed at a start. A database of 1,000,000 entries then opens in
  // 1.3 s instead of 6.5 s.
  db.max_total_wal_size = Share(options, 4 * kMiB, 64 * kMiB);
  db.wal_recovery_mode = options.skip_damaged_log
                             ? rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords
                             : rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  db.wal_bytes_per_sync = 1 * kMiB;
  db.bytes_per_sync = 1 * kMiB;
  db.max_background_jobs = 2;
  db.max_open_files = 256;
  // Opens few files at a start. Damage of the others is found when they are read.
  db.skip_stats_update_on_db_open = true;
  db.skip_checking_sst_file_sizes_on_db_open = true;
  db.max_manifest_file_size = 4 * kMiB;
  db.info_log = std::make_shared<NoLog>();
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  return db;
}

std::vector<std::pair<std::string, rocksdb::ColumnFamilyOptions>> Columns(
    const DatabaseOptions& options) {
  rocksdb::LRUCacheOptions cache_options;
  cache_options.capacity = options.cache_bytes;
  cache_options.num_shard_bits = 4;
  cache_options.high_pri_pool_ratio = 0.5;  // half is for indexes and filters
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(cache_options);
  const auto small = SmallValues(cache);
  const auto large = LargeValues(options, cache);
  return {{"default", small},      {"artifacts", large}, {"manifests", small},
          {"deposits", large},     {"private", large},   {"usage", small},
          {"meta", small},         {"answered", small},  {"private_usage", small},
          {"private_order", small}};
}

}  // namespace cccl_cache::daemon
