// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/rocksdb_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "daemon/core/lookup/entry.h"
#include "daemon/store/deposit_table.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kUsesInterval{2000};
constexpr milliseconds kFirstRetry{250};
constexpr milliseconds kMaxRetry{15'000};
// After this many failed attempts to resume, the database is closed and reopened, because RocksDB
// can't resume after some failures. Attempts on a full disk do not count.
constexpr int kResumesBeforeReopening = 3;

}  // namespace

void RunNumber::Count(const StateDirectory& directory) {
  if (Get().ok()) return;
  Result<uint64_t> counted = directory.CountRun();
  const MutexLock lock(mutex_);
  number_ = std::move(counted);
}

Result<uint64_t> RunNumber::Get() const {
  const MutexLock lock(mutex_);
  return number_;
}

StoreWriter::StoreWriter(Parts parts, DatabaseOptions options, Report report,
                         std::optional<DatabaseError> failure)
    : parts_(parts),
      options_(options),
      report_(std::move(report)),
      uses_recorded_(std::chrono::steady_clock::now()) {
  if (failure) Failed(*std::move(failure));
  thread_ = std::thread([this] { Run(); });
}

StoreWriter::~StoreWriter() { thread_.join(); }

void StoreWriter::Run() {
  NameThread("store writer");
  while (true) {
    if (failure_) {
      parts_.queue.Pause(retry_delay_);
      Recover();
    }
    if (const auto database = parts_.slot.Get()) {
      if (auto error = Turn(*database)) {
        Failed(*std::move(error));
      } else {
        Succeeded();
      }
    }
    if (parts_.queue.closed() && (failure_ || parts_.queue.empty())) break;
  }
  Finish();
}

std::optional<DatabaseError> StoreWriter::Turn(Database& database) {
  const WriteQueue::Batch& batch = parts_.queue.Next(
      parts_.table.over_limit() || parts_.table.files_over_limit() ? milliseconds(0)
                                                                   : kUsesInterval);
  if (!batch.empty()) {
    if (auto error = parts_.table.Apply(database, batch)) return error;
    if (auto error = WriteDeposits(database, batch.deposits)) return error;
    parts_.queue.Written();
  }
  if (parts_.table.over_limit()) {
    if (auto error = parts_.table.Trim(database)) return error;
  }
  if (auto error = parts_.table.BoundFiles(database)) return error;
  if (std::chrono::steady_clock::now() - uses_recorded_ < kUsesInterval) return std::nullopt;
  return RecordUses(database);
}

std::optional<DatabaseError> StoreWriter::RecordUses(Database& database) {
  uses_recorded_ = std::chrono::steady_clock::now();
  if (auto error = parts_.table.RecordUses(database, parts_.ledger.Take())) return error;
  if (auto error = parts_.answered_table.Write(database, parts_.answered.Next())) return error;
  parts_.answered.Written();
  return std::nullopt;
}

void StoreWriter::Finish() {
  if (!failure_) {
    if (const auto database = parts_.slot.Get()) failure_ = RecordUses(*database);
  }
  if (failure_) {
    report_(fmt::format(
        "the cache's database can't be written ({}): stopping without the latest entries",
        failure_->message));
  }
  parts_.slot.Close();
}

void StoreWriter::Failed(DatabaseError error) {
  parts_.statistics.Add(Counter::kStoreErrors);
  if (!failure_) {
    report_(fmt::format(
        "the cache's database can't be written ({}): going on from memory, trying again",
        error.message));
  }
  retry_delay_ = std::clamp(retry_delay_ * 2, kFirstRetry, kMaxRetry);
  failure_ = std::move(error);
  parts_.slot.SetFailure(failure_);
}

void StoreWriter::Succeeded() {
  if (failure_) {
    report_("the cache's database can be written again");
  }
  parts_.run.Count(parts_.directory);
  failure_.reset();
  parts_.slot.SetFailure(std::nullopt);
  retry_delay_ = milliseconds(0);
  failed_resumes_ = 0;
}

void StoreWriter::Recover() {
  if (!Resumed()) Reopen();
}

bool StoreWriter::Resumed() {
  const auto database = parts_.slot.Get();
  if (!database || failure_->kind == DatabaseError::Kind::kDamaged) return false;
  const auto error = database->Resume();
  if (!error || error->kind == DatabaseError::Kind::kDiskFull) return true;
  return ++failed_resumes_ < kResumesBeforeReopening;
}

void StoreWriter::Reopen() {
  failed_resumes_ = 0;
  parts_.slot.Close();
  if (failure_->kind == DatabaseError::Kind::kDamaged) {
    // The database could be opened in spite of the damage, so opening it again would not help.
    report_(fmt::format(
        "the database {} is damaged ({}): set aside as {}, starting with an empty one",
        parts_.directory.database_path(), failure_->message, parts_.directory.set_aside_path()));
    if (const Status moved = parts_.directory.SetDatabaseAside(); !moved) {
      return Failed({DatabaseError::Kind::kDamaged, moved.error().message});
    }
    failure_->kind = DatabaseError::Kind::kUnavailable;
  }
  auto opened = OpenDatabase(parts_.directory, options_, report_);
  if (!opened) return Failed({DatabaseError::Kind::kUnavailable, opened.error().message});
  if (opened->database == nullptr) return Failed(*std::move(opened.value().failure));
  if (auto error = parts_.table.Load(*opened->database, opened->totals_uncertain)) {
    return Failed(*std::move(error));
  }
  if (auto error = parts_.earlier.DropOnce(*opened->database)) return Failed(*std::move(error));
  parts_.own.Load(*opened->database);
  parts_.answered_table.Reopened();
  parts_.slot.Set(std::move(opened->database));
}

namespace {

// Maximum time to wait for the writer. If a batch of deletions is not written by then, Evict fails.
constexpr std::chrono::seconds kPatience{10};

}  // namespace

Result<std::unique_ptr<RocksdbStore>> RocksdbStore::Open(RocksdbStoreOptions options,
                                                         Statistics& statistics) {
  if (!options.report) options.report = [](std::string_view) {};
  auto directory = StateDirectory::Open(options.directory);
  if (!directory) return directory.error();
  const DatabaseOptions database_options{options.limit_bytes, options.cache_bytes};
  const Report report = options.report;
  std::unique_ptr<RocksdbStore> store(
      new RocksdbStore(std::move(options), std::move(*directory), statistics));
  store->run_.Count(*store->directory_);
  if (const auto run = store->run(); !run) {
    report("no leases are granted: " + run.error().message);
  }

  auto opened = OpenDatabase(*store->directory_, database_options, report);
  if (!opened) return opened.error();
  if (opened->database == nullptr) {
    // The disk is full. The writer opens the database once there is space.
  } else if (const auto error = store->table_.Load(*opened->database, opened->totals_uncertain)) {
    // Without usage records the store can't keep its limit, so the database is replaced.
    opened->database.reset();
    report("the usage records of the database can't be read (" + error->message +
           "): it is set aside");
    if (const Status moved = store->directory_->SetDatabaseAside(); !moved) return moved.error();
    opened = OpenDatabase(*store->directory_, database_options, report);
    if (!opened) return opened.error();
  }
  if (opened->database != nullptr) {
    // After a failure to drop the rows, the database must not be used. The writer thread tries
    // again.
    opened->failure = store->earlier_.DropOnce(*opened->database);
    if (opened->failure) opened->database.reset();
  }
  if (opened->database != nullptr) {
    store->own_.Load(*opened->database);
    store->slot_.Set(std::move(opened->database));
  }
  store->writer_ = std::make_unique<StoreWriter>(
      StoreWriter::Parts{*store->directory_, store->run_, store->slot_, store->table_,
                         store->queue_, store->ledger_, store->answered_, store->answered_table_,
                         store->own_, store->earlier_, statistics},
      database_options, report, opened->failure);
  return store;
}

RocksdbStore::RocksdbStore(RocksdbStoreOptions options, std::unique_ptr<StateDirectory> directory,
                           Statistics& statistics)
    : statistics_(statistics),
      on_evict_(options.on_evict),
      directory_(std::move(directory)),
      table_({options.limit_bytes, std::move(options.used_elsewhere), on_evict_}, statistics),
      queue_(options.queue_bytes),
      deposits_(slot_, queue_, statistics),
      answered_(slot_),
      answered_table_(AnsweredTable::kLimits, options.private_limits.find_account),
      own_(options.private_limits, slot_, options.memory, statistics) {}

RocksdbStore::~RocksdbStore() {
  queue_.Close();
  if (const auto database = slot_.Get()) database->StopCollecting();
}

ArtifactPtr RocksdbStore::Get(const Digest& key) {
  if (ArtifactPtr queued = queue_.Find(key)) return queued;
  const auto database = slot_.Get();
  if (!database || queue_.Drops(key)) return nullptr;
  ArtifactPtr artifact;
  switch (database->Read(Column::kArtifacts, key.View(),
                         [&](std::string_view entry) { artifact = DecodeEntry(key, entry); })) {
    case Database::Found::kNo:
      return nullptr;
    case Database::Found::kFailed:
      statistics_.Add(Counter::kStoreErrors);
      return nullptr;
    case Database::Found::kYes:
    case Database::Found::kDamaged:
      break;
  }
  if (artifact) {
    ledger_.Used(key);
  } else {
    DropBroken(key);
  }
  return artifact;
}

void RocksdbStore::DropBroken(const Digest& key) {
  if (!queue_.Drop(key)) return;
  statistics_.Add(Counter::kCorruptEntries);
  if (on_evict_) on_evict_(key, EvictionCause::kCorrupt);
}

bool RocksdbStore::Holds(const Digest& key) {
  if (queue_.Find(key) != nullptr) return true;
  const auto database = slot_.Get();
  return database && !queue_.Drops(key) && ArtifactTable::Holds(*database, key);
}

void RocksdbStore::Put(const Digest& key, ArtifactPtr artifact) {
  if (!queue_.Put(key, std::move(artifact))) statistics_.Add(Counter::kStoreErrors);
}

void RocksdbStore::AwaitRoom() { queue_.AwaitRoom(kPatience); }

void RocksdbStore::Remove(const Digest& key) { queue_.Drop(key); }

std::optional<std::string> RocksdbStore::GetMeta(std::string_view name) {
  if (auto queued = queue_.FindMeta(name)) return queued;
  const auto database = slot_.Get();
  return database ? ArtifactTable::ReadMeta(*database, name) : std::nullopt;
}

void RocksdbStore::PutMeta(std::string_view name, std::string_view value) {
  if (!queue_.PutMeta(name, value)) statistics_.Add(Counter::kStoreErrors);
}

Result<std::vector<ArtifactTable::Listed>> RocksdbStore::List(std::string_view from, size_t most) {
  const auto database = slot_.Get();
  if (!database) return slot_.WhyEmpty();
  auto listed = ArtifactTable::List(*database, from, most);
  if (const auto* error = std::get_if<DatabaseError>(&listed)) return CannotRead(*error);
  return std::get<0>(std::move(listed));
}

Result<TierSize> RocksdbStore::Evict(std::span<const Digest> keys) {
  assert(keys.size() <= kMaxEvicted);
  TierSize evicted;
  for (const Digest& key : keys) {
    const auto database = slot_.Get();
    if (!database) return slot_.WhyEmpty();
    const ArtifactPtr queued = queue_.Find(key);
    const ArtifactTable::Lookup written = ArtifactTable::FindUsage(*database, key);
    if (written.error) return CannotRead(*written.error);
    if (queued == nullptr && (!written.record || queue_.Drops(key))) continue;
    ++evicted.entries;
    evicted.bytes += written.record ? written.record->bytes : queued->Footprint() + kEntryOverhead;
    // The cause is logged before the removal, so that a later miss of this key can name it.
    if (on_evict_) on_evict_(key, EvictionCause::kEvicted);
    queue_.Drop(key);
  }
  if (queue_.AwaitDropped(keys, kPatience)) return evicted;
  const std::string why = problem();
  return Error{ErrorCode::kUnavailable,
               fmt::format("entries can't be deleted from the disk{}: try again once it can be "
                           "written",
                           why.empty() ? "" : fmt::format(" ({})", why))};
}

Soundness RocksdbStore::Verify(const Digest& key) {
  const auto database = slot_.Get();
  if (!database) return Soundness::kUnreadable;
  const Soundness found = VerifyEntry(*database, Column::kArtifacts, key.View(), key);
  if (found == Soundness::kUnreadable) statistics_.Add(Counter::kStoreErrors);
  if (found != Soundness::kBroken) return found;
  DropBroken(key);
  return Soundness::kBroken;
}

void RocksdbStore::DropCache() {
  if (const auto database = slot_.Get()) database->DropCache();
}

Status RocksdbStore::FreeSpace(const std::stop_token& stop) {
  const auto database = slot_.Get();
  if (!database) return slot_.WhyEmpty();
  // Flush empties the write-ahead log, which contains recent values of all columns, deleted ones
  // included.
  auto error = database->Flush();
  for (const Column column : {Column::kArtifacts, Column::kPrivate, Column::kDeposits}) {
    if (!error) error = database->Compact(column, stop);
  }
  if (!error) return Ok{};
  if (stop.stop_requested()) return Error{ErrorCode::kCancelled, "the caller left"};
  return Error{
      ErrorCode::kUnavailable,
      fmt::format("the entries are gone, but their disk space could not be given back ({})",
                  error->message)};
}

}  // namespace cccl_cache::daemon
