// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <variant>

#include "daemon/core/model/artifact.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/snapshots.h"
#include "daemon/snapshot/records.h"
#include "daemon/snapshot/spool.h"
#include "proto/snapshot/snapshot_reader.h"

namespace cccl_cache::daemon {

/// Receives a snapshot from a client and inserts its records into the store. The whole snapshot and
/// each of its records are verified before the first record is inserted.
class ReceivedSnapshot final : public IncomingSnapshot {
 public:
  struct Options {
    SnapshotCaller caller;
    uint64_t limit_bytes = 0;          ///< maximum of all records together, decompressed
    uint64_t deposit_limit_bytes = 0;  ///< maximum of all deposits, as they count for the account
    bool shared = false;
    std::function<Result<Inserted>(const ArtifactRecord&)> keep;
    std::function<Result<Inserted>(const DepositCopy&)> keep_deposit;
    std::shared_ptr<void> place;  ///< (Places) held until the snapshot is inserted or dropped
  };

  ReceivedSnapshot(SpoolFile file, Options options)
      : file_(std::move(file)), options_(std::move(options)) {}

  Status Append(std::string_view bytes) override;
  Result<SnapshotSummary> Finish() override;

 private:
  using Record = std::variant<ArtifactRecord, DepositCopy>;
  using Use = std::function<Status(const SnapshotItem&, const Record&)>;
  [[nodiscard]] static Result<Record> Decode(const SnapshotItem& item, std::string_view stored);
  [[nodiscard]] Result<Inserted> Keep(const Record& record) const;
  Status ForEachRecord(const SnapshotReader& reader, const Use& use) const;
  /// Returns an error if the record may not be inserted. Must be called before the record is read.
  [[nodiscard]] Status Admit(const SnapshotItem& item) const;
  /// Returns an error if a snapshot of this many bytes is too large to be inserted.
  [[nodiscard]] Status CheckSize(uint64_t bytes) const;
  /// Returns an error unless all deposits fit: the last ones would evict the first ones.
  [[nodiscard]] Status CheckDeposits(const SnapshotReader& reader) const;
  /// Returns the bytes that a record counts against a user's limit of private entries, with its
  /// manifest. Records of one program share a manifest; it is counted for each.
  [[nodiscard]] uint64_t PrivateCharge(const SnapshotItem& item, const Record& record) const;

  SpoolFile file_;
  uint64_t received_ = 0;
  const Options options_;
};

}  // namespace cccl_cache::daemon
