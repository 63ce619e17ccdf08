// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/database.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <cassert>
#include <utility>
#include <vector>

#include "daemon/store/database_options.h"

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
    kind = Kind::kForeignFormat;  // column families or options that this version does not have
  } else if (status.IsNoSpace()) {
    kind = Kind::kDiskFull;
  }
  return {kind, status.ToString()};
}

std::optional<DatabaseError> Checked(const rocksdb::Status& status) {
  if (status.ok()) return std::nullopt;
  return Translate(status);
}

}  // namespace

class Database::Impl {
 public:
  Impl(std::unique_ptr<rocksdb::DB> db, std::vector<rocksdb::ColumnFamilyHandle*> columns)
      : db_(std::move(db)), columns_(std::move(columns)) {}

  ~Impl() {
    // Nobody could be told: what is not on the disk now is lost, as it would be with a crash.
    Flush().PermitUncheckedError();
    for (rocksdb::ColumnFamilyHandle* column : columns_) {
      db_->DestroyColumnFamilyHandle(column).PermitUncheckedError();
    }
    db_->Close().PermitUncheckedError();
  }

  rocksdb::DB& db() { return *db_; }
  rocksdb::ColumnFamilyHandle* Handle(Column column) {
    return columns_.at(static_cast<size_t>(column) + 1);  // 0 is "default"
  }
  rocksdb::Status Flush() { return db_->Flush(rocksdb::FlushOptions(), columns_); }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> columns_;
};

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::~Database() = default;

std::variant<std::unique_ptr<Database>, DatabaseError> Database::Open(
    const std::string& path, const DatabaseOptions& options) {
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (auto& [name, column] : Columns(options)) descriptors.emplace_back(name, column);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(ProcessOptions(options), path, descriptors, &handles, &db);
  if (!status.ok()) return Translate(status);
  return std::unique_ptr<Database>(
      new Database(std::make_unique<Impl>(std::unique_ptr<rocksdb::DB>(db), std::move(handles))));
}

Database::Found Database::Read(Column column, std::string_view key,
                               const std::function<void(std::string_view value)>& use) {
  rocksdb::PinnableSlice value;
  const rocksdb::Status status =
      impl_->db().Get(rocksdb::ReadOptions(), impl_->Handle(column), Slice(key), &value);
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

std::optional<DatabaseError> Database::Flush() { return Checked(impl_->Flush()); }

std::optional<DatabaseError> Database::Resume() { return Checked(impl_->db().Resume()); }

}  // namespace cccl_cache::daemon
