// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/rocksdb_store.h"

#include <cassert>
#include <utility>

#include "daemon/core/lookup/entry.h"

namespace cccl_cache::daemon {

using cccl_cache::Digest;

namespace {

// A disk that takes so long for a batch takes nothing more.
constexpr std::chrono::seconds kPatience{10};

}  // namespace

Result<std::unique_ptr<RocksdbStore>> RocksdbStore::Open(RocksdbStoreOptions options,
                                                         Statistics& statistics) {
  if (!options.report) options.report = [](std::string_view) {};
  auto directory = StateDirectory::Open(options.directory);
  if (!directory) return directory.error();
  Result<uint64_t> run = (*directory)->CountRun();
  if (!run) options.report("no leases are granted: " + run.error().message);
  const DatabaseOptions database_options{options.limit_bytes, options.cache_bytes};
  const Report report = options.report;
  std::unique_ptr<RocksdbStore> store(
      new RocksdbStore(std::move(options), std::move(*directory), std::move(run), statistics));

  auto opened = OpenDatabase(*store->directory_, database_options, report);
  if (!opened) return opened.error();
  if (opened->database == nullptr) {
    // The writer opens it once there is space.
  } else if (const auto error = store->table_.Load(*opened->database, opened->totals_uncertain)) {
    // The usage records are damaged, and the store can't keep its limit without them.
    opened->database.reset();
    report("the usage records of the database can't be read (" + error->message +
           "): it is set aside");
    if (const Status moved = store->directory_->SetDatabaseAside(); !moved) return moved.error();
    opened = OpenDatabase(*store->directory_, database_options, report);
    if (!opened) return opened.error();
  }
  if (opened->database != nullptr) {
    store->own_.Load(*opened->database);
    store->slot_.Set(std::move(opened->database));
  }
  store->writer_ = std::make_unique<StoreWriter>(
      StoreWriter::Parts{*store->directory_, store->slot_, store->table_, store->queue_,
                         store->ledger_, store->answered_, store->answered_table_, store->own_,
                         statistics},
      database_options, report, opened->failure);
  return store;
}

RocksdbStore::RocksdbStore(RocksdbStoreOptions options, std::unique_ptr<StateDirectory> directory,
                           Result<uint64_t> run, Statistics& statistics)
    : statistics_(statistics),
      departed_(options.departed),
      directory_(std::move(directory)),
      run_(std::move(run)),
      table_({options.limit_bytes, std::move(options.used_elsewhere), departed_}, statistics),
      queue_(options.queue_bytes),
      deposits_(slot_, queue_, statistics),
      answered_(slot_),
      answered_table_(AnsweredTable::Limits{}),
      own_(options.private_limits, slot_, options.memory, statistics) {}

RocksdbStore::~RocksdbStore() { queue_.Close(); }

ArtifactPtr RocksdbStore::Get(const Digest& key) {
  if (ArtifactPtr queued = queue_.Find(key)) return queued;
  const auto database = slot_.Get();
  if (!database) return nullptr;
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
  } else if (queue_.Drop(key)) {
    statistics_.Add(Counter::kCorruptEntries);
    if (departed_) departed_(key, DepartureCause::kCorrupt);
  }
  return artifact;
}

bool RocksdbStore::Holds(const Digest& key) {
  if (queue_.Find(key) != nullptr) return true;
  const auto database = slot_.Get();
  return database && ArtifactTable::Holds(*database, key);
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

}  // namespace cccl_cache::daemon
