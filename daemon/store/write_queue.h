// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/artifact.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What was stored but not written yet. Any thread adds and looks; one thread, the writer, takes.
/// Bounded in bytes. What the writer took stays visible until it says that it is written, so
/// nothing is ever missing between the queue and the disk. Thread-safe.
class WriteQueue {
 public:
  using Artifacts = std::unordered_map<Digest, ArtifactPtr, DigestHash>;
  using Keys = std::unordered_set<Digest, DigestHash>;

  /// What is to become of one deposit.
  struct DepositChange {
    std::string record;        ///< encoded; empty: it is to be deleted
    DepositContents contents;  ///< null: those that are there stay
  };
  using DepositChanges = std::unordered_map<Digest, DepositChange, DigestHash>;

  struct Batch {
    Keys dropped;             ///< broken entries to delete, before anything is written
    Artifacts artifacts;      ///< at least one if any waits, else as many as are small
    DepositChanges deposits;  ///< at least one if any waits, else as many as are small
    std::map<std::string, std::string, std::less<>> meta;
    uint64_t bytes = 0;

    [[nodiscard]] bool empty() const {
      return dropped.empty() && artifacts.empty() && deposits.empty() && meta.empty();
    }
  };

  explicit WriteQueue(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  /// False: no room, nothing was queued.
  [[nodiscard]] bool Put(const Digest& key, ArtifactPtr artifact);
  [[nodiscard]] bool PutMeta(std::string_view name, std::string_view value);
  /// Queues the deletion of a wrong or broken entry, and takes it back if it waits. False: it is
  /// queued already.
  bool Drop(const Digest& key);

  /// False: no room, nothing was queued. A record alone, for a deposit that is to be deleted, is
  /// forgotten.
  [[nodiscard]] bool PutDeposit(const Digest& key, DepositChange change);
  void DropDeposit(const Digest& key);

  [[nodiscard]] ArtifactPtr Find(const Digest& key) const;
  [[nodiscard]] std::optional<std::string> FindMeta(std::string_view name) const;

  /// None: what is on disk counts. Null: it is to be deleted.
  [[nodiscard]] std::optional<DepositContents> FindDeposit(const Digest& key) const;

  /// For the writer: what to write next, empty after `timeout` or when closed. The same batch again
  /// until it was Written. Valid until the next call.
  [[nodiscard]] const Batch& Next(std::chrono::milliseconds timeout);
  void Written();
  /// Returns when half of it is free, or after `timeout`, or when closed.
  void AwaitRoom(std::chrono::milliseconds timeout);
  /// Returns after `duration`, or at once when closed.
  void Pause(std::chrono::milliseconds duration);

  /// Wakes the writer. What is queued can still be taken.
  void Close();
  [[nodiscard]] bool closed() const;
  /// Nothing waits and nothing is being written.
  [[nodiscard]] bool empty() const;

 private:
  [[nodiscard]] bool Reserve(uint64_t bytes, uint64_t freed);
  void FillBatch();
  void FillDeposits();

  const uint64_t limit_bytes_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Batch waiting_;                ///< guarded by mutex_
  std::deque<Digest> in_order_;  ///< keys of waiting_.artifacts; guarded by mutex_
  Batch
      writing_;  ///< changed under mutex_ and by the writer only, so the writer may read it without
  bool closed_ = false;  ///< guarded by mutex_
};

}  // namespace cccl_cache::daemon
