// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/artifact.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The changes that wait to be written, bounded in bytes. Any thread adds and looks up; only the
/// writer thread takes. A batch that the writer took stays visible until Written(), so that a
/// reader finds each entry in the queue or in the database. Thread-safe.
class WriteQueue {
 public:
  using Artifacts = std::unordered_map<Digest, ArtifactPtr, DigestHash>;
  using Keys = std::unordered_set<Digest, DigestHash>;

  /// A change of one deposit.
  struct DepositChange {
    std::string record;        ///< encoded; empty: the deposit is to be deleted
    DepositContents contents;  ///< null: the present contents stay
  };
  using DepositChanges = std::unordered_map<Digest, DepositChange, DigestHash>;

  struct Batch {
    Keys dropped;             ///< keys of broken entries, deleted before the other changes
    Artifacts artifacts;      ///< at least one if any waits, more up to a bound in bytes
    DepositChanges deposits;  ///< at least one if any waits, more up to a bound in bytes
    std::map<std::string, std::string, std::less<>> meta;
    uint64_t bytes = 0;

    [[nodiscard]] bool empty() const {
      return dropped.empty() && artifacts.empty() && deposits.empty() && meta.empty();
    }
  };

  explicit WriteQueue(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// Returns false if there is no room for it.
  [[nodiscard]] bool Put(const Digest& key, ArtifactPtr artifact);
  [[nodiscard]] bool PutMeta(std::string_view name, std::string_view value);
  /// Queues the deletion of a broken entry, and removes the entry from the queue. Returns false if
  /// its deletion is queued already.
  bool Drop(const Digest& key);
  /// Returns whether the entry's deletion is queued and no later entry of its key is.
  [[nodiscard]] bool Drops(const Digest& key) const;
  /// Waits until none of these deletions is queued. Returns false after `timeout`, or if the queue
  /// is closed.
  [[nodiscard]] bool AwaitDropped(std::span<const Digest> keys, std::chrono::milliseconds timeout);

  /// Returns false if there is no room for it. A change without contents is ignored if the
  /// deposit's deletion is queued.
  [[nodiscard]] bool PutDeposit(const Digest& key, DepositChange change);
  void DropDeposit(const Digest& key);

  [[nodiscard]] ArtifactPtr Find(const Digest& key) const;
  /// Returns the keys of all queued artifacts.
  [[nodiscard]] std::vector<Digest> ArtifactKeys() const;
  [[nodiscard]] std::optional<std::string> FindMeta(std::string_view name) const;

  /// Returns none if no change of the deposit is queued. Null contents: its deletion is queued.
  [[nodiscard]] std::optional<DepositContents> FindDeposit(const Digest& key) const;

  /// For the writer: returns the next batch, empty after `timeout` or when closed. Returns the same
  /// batch again until Written() is called. Valid until the next call.
  [[nodiscard]] const Batch& Next(std::chrono::milliseconds timeout);
  void Written();
  /// Returns when half of the queue is free, after `timeout`, or when closed.
  void AwaitRoom(std::chrono::milliseconds timeout);
  /// Returns after `duration`, or at once when closed.
  void Pause(std::chrono::milliseconds duration);

  /// Wakes the writer, which can still take the queued changes.
  void Close();
  [[nodiscard]] bool closed() const;
  /// Returns whether nothing waits and nothing is being written.
  [[nodiscard]] bool empty() const;

 private:
  [[nodiscard]] bool Reserve(uint64_t bytes, uint64_t freed) REQUIRES(mutex_);
  void FillBatch() REQUIRES(mutex_);
  void FillDeposits() REQUIRES(mutex_);

  const uint64_t limit_bytes_;

  mutable Mutex mutex_;
  CondVar changed_;
  Batch waiting_ GUARDED_BY(mutex_);
  std::deque<Digest> in_order_ GUARDED_BY(mutex_);  ///< keys of waiting_.artifacts
  /// Changed only by the writer, so the writer may read it without the lock.
  Batch writing_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace cccl_cache::daemon
