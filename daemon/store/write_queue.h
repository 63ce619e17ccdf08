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

/// The changes that wait to be written to the database, limited in bytes. Any thread may add
/// changes and look them up. Only the writer thread takes batches of them. A batch stays visible
/// until Written(), so that a reader finds each entry either in the queue or in the database.
/// Thread-safe.
class WriteQueue {
 public:
  using Artifacts = std::unordered_map<Digest, ArtifactPtr, DigestHash>;
  using Keys = std::unordered_set<Digest, DigestHash>;

  /// A change of one deposit.
  struct DepositChange {
    std::string record;        ///< encoded record; if empty, the deposit is deleted
    DepositContents contents;  ///< if null, the stored contents do not change
  };
  using DepositChanges = std::unordered_map<Digest, DepositChange, DigestHash>;

  struct Batch {
    Keys dropped;             ///< keys of entries that are deleted before the other changes
    Artifacts artifacts;      ///< if any wait, at least one, and more up to kBatchBytes
    DepositChanges deposits;  ///< if any wait, at least one, and more up to kBatchBytes
    std::map<std::string, std::string, std::less<>> meta;
    uint64_t bytes = 0;

    [[nodiscard]] bool empty() const {
      return dropped.empty() && artifacts.empty() && deposits.empty() && meta.empty();
    }
  };

  explicit WriteQueue(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// Queues an artifact or a value. Returns false if the queue has no room for it.
  [[nodiscard]] bool Put(const Digest& key, ArtifactPtr artifact);
  [[nodiscard]] bool PutMeta(std::string_view name, std::string_view value);
  /// Queues the deletion of an entry, and removes the entry from the queue. Returns false if the
  /// deletion is already queued.
  bool Drop(const Digest& key);
  /// Returns whether the deletion of the entry is queued, and no newer entry with the same key.
  [[nodiscard]] bool Drops(const Digest& key) const;
  /// Waits until the deletions of these entries are written. Returns false if the queue is closed
  /// or `timeout` has passed before.
  [[nodiscard]] bool AwaitDropped(std::span<const Digest> keys, std::chrono::milliseconds timeout);

  /// Queues a change of a deposit. Returns false if the queue has no room for it. A change without
  /// contents is ignored if the deletion of the deposit is queued.
  [[nodiscard]] bool PutDeposit(const Digest& key, DepositChange change);
  void DropDeposit(const Digest& key);

  [[nodiscard]] ArtifactPtr Find(const Digest& key) const;
  /// Returns the keys of all queued artifacts.
  [[nodiscard]] std::vector<Digest> ArtifactKeys() const;
  [[nodiscard]] std::optional<std::string> FindMeta(std::string_view name) const;

  /// Returns the queued contents of the deposit. Returns null if its deletion is queued. Returns
  /// none if the queue has neither.
  [[nodiscard]] std::optional<DepositContents> FindDeposit(const Digest& key) const;

  /// Returns the next batch. Only for the writer thread. Waits until there are changes, the queue
  /// is closed, or `timeout` has passed; the batch may be empty in the last two cases. Until
  /// Written() is called, returns the same batch. The reference is valid until the next call.
  [[nodiscard]] const Batch& Next(std::chrono::milliseconds timeout);
  void Written();
  /// Waits until half of the queue is free, the queue is closed, or `timeout` has passed.
  void AwaitRoom(std::chrono::milliseconds timeout);
  /// Waits until the queue is closed, or `duration` has passed.
  void Pause(std::chrono::milliseconds duration);

  /// Closes the queue and ends all waits. The writer can still take the queued changes.
  void Close();
  [[nodiscard]] bool closed() const;
  /// Returns whether no change waits and no batch is being written.
  [[nodiscard]] bool empty() const;

 private:
  [[nodiscard]] bool Reserve(uint64_t bytes, uint64_t freed) REQUIRES(mutex_);
  void FillBatch() REQUIRES(mutex_);
  void FillDeposits() REQUIRES(mutex_);

  const uint64_t limit_bytes_;

  mutable Mutex mutex_;
  CondVar changed_;
  Batch waiting_ GUARDED_BY(mutex_);
  std::deque<Digest> in_order_ GUARDED_BY(mutex_);  ///< keys of waiting_.artifacts, oldest first
  /// Only the writer thread changes it, so that thread may read it without the lock.
  Batch writing_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace cccl_cache::daemon
