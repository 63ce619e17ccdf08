// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/store_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/store/deposit_rows.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kUsesInterval{2000};
constexpr milliseconds kFirstRetry{250};
constexpr milliseconds kLongestRetry{15'000};
// A full disk is waited for; on any other failure the database is closed and opened again after
// that many attempts, because RocksDB gives up for good on some.
constexpr int kResumesBeforeReopening = 3;

}  // namespace

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

std::string StoreWriter::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void StoreWriter::Run() {
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
  const WriteQueue::Batch& batch =
      parts_.queue.Next(parts_.table.over_limit() ? milliseconds(0) : kUsesInterval);
  if (!batch.empty()) {
    if (auto error = parts_.table.Apply(database, batch)) return error;
    if (auto error = WriteDeposits(database, batch.deposits)) return error;
    parts_.queue.Written();
  }
  if (parts_.table.over_limit()) {
    if (auto error = parts_.table.Trim(database)) return error;
  }
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
  retry_delay_ = std::clamp(retry_delay_ * 2, kFirstRetry, kLongestRetry);
  failure_ = std::move(error);
  const std::lock_guard lock(mutex_);
  problem_ = failure_->message;
}

void StoreWriter::Succeeded() {
  if (failure_) report_("the cache's database can be written again");
  {
    const std::lock_guard lock(mutex_);
    problem_.clear();
  }
  failure_.reset();
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
    // It opened although it is damaged, so opening it again would only end here again.
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
  parts_.own.Load(*opened->database);
  parts_.slot.Set(std::move(opened->database));
}

}  // namespace cccl_cache::daemon
