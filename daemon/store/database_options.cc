// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/database_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <cstdarg>
#include <memory>

namespace cccl_cache::daemon {
namespace {

constexpr uint64_t kMiB = 1u << 20;

/// RocksDB's own log would be a file on the same disk, and Debian's build of RocksDB aborts the
/// process at the first line after one that a full disk refused. What goes wrong is in the
/// statuses.
class NoLog final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

/// A sixteenth of the limit, so that a small store does not exceed it by its own buffers and
/// garbage.
uint64_t Share(const DatabaseOptions& options, uint64_t least, uint64_t most) {
  return std::clamp(options.limit_bytes / 16, least, most);
}

rocksdb::ColumnFamilyOptions SmallValues(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, false));
  table.cache_index_and_filter_blocks = true;  // else their memory grows with the number of entries
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
  column.blob_file_size = Share(options, 4 * kMiB, 256 * kMiB);
  column.blob_compression_type = rocksdb::kZSTD;
  column.blob_cache = cache;
  column.enable_blob_garbage_collection = true;
  column.blob_garbage_collection_age_cutoff = 0.5;
  column.blob_garbage_collection_force_threshold = 0.5;
  return column;
}

}  // namespace

rocksdb::DBOptions ProcessOptions(const DatabaseOptions& options) {
  rocksdb::DBOptions db;
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  // Reopening replays the log: 1,000,000 entries are back in 1.3 s instead of 6.5 s.
  db.max_total_wal_size = Share(options, 4 * kMiB, 64 * kMiB);
  db.wal_recovery_mode = options.skip_damaged_log
                             ? rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords
                             : rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  db.wal_bytes_per_sync = 1 * kMiB;
  db.bytes_per_sync = 1 * kMiB;
  db.max_background_jobs = 2;
  db.max_open_files = 256;
  // Opening looks at as few files as it can: what is damaged is found when it is read.
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
  cache_options.high_pri_pool_ratio = 0.5;  // indexes and filters, before any artifact
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(cache_options);
  const auto small = SmallValues(cache);
  const auto large = LargeValues(options, cache);
  return {{"default", small},      {"artifacts", large}, {"manifests", small},
          {"deposits", large},     {"private", large},   {"usage", small},
          {"meta", small},         {"answered", small},  {"private_usage", small},
          {"private_order", small}};
}

}  // namespace cccl_cache::daemon
