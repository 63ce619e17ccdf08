// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/result.h"
#include "proto/deposit_key.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The bytes of a deposit, shared by all callers that get them.
using DepositContents = std::shared_ptr<const std::string>;

/// Description of a deposit, without its contents.
struct DepositRecord {
  Digest key;
  uid_t uid = 0;  ///< the depositor: its account is charged, and it may list and remove the deposit
  DepositScope scope;
  std::string name_space;
  Digest fields;  ///< digest of the fields; with the namespace, its identity
  uint64_t size = 0;
  std::chrono::sys_seconds made{};
  std::chrono::sys_seconds used{};  ///< accurate to an hour: see DepositIndex::Use
};

[[nodiscard]] inline Digest IdentityOf(const DepositRecord& record) {
  return DepositIdentity(record.name_space, record.fields);
}

/// Stores deposits across restarts. Thread-safe. Only Get and Records wait for a disk.
class DepositStore {
 public:
  virtual ~DepositStore() = default;

  /// Returns null if the deposit is missing or its checksum is wrong, kUnavailable if the disk
  /// can't be read.
  virtual Result<DepositContents> Get(const Digest& key) = 0;
  /// Like Get, without waiting for a disk: if it returns null, the disk may still have the deposit.
  virtual DepositContents FindInMemory(const Digest& key) = 0;
  /// Returns false, and stores nothing, if there is no room.
  [[nodiscard]] virtual bool Put(const DepositRecord& record, DepositContents contents) = 0;
  /// Replaces the record of an existing deposit.
  virtual void PutRecord(const DepositRecord& record) = 0;
  virtual void Remove(const Digest& key) = 0;
  /// Returns all records, in no order. Called once, at the start.
  virtual std::vector<DepositRecord> Records() = 0;
};

/// The stored forms of a deposit: with a version, a checksum and their key.
/// docs/internals/entry-format.md lists them byte by byte. Decoders accept bytes from any source,
/// and return none unless everything is valid.
[[nodiscard]] std::string EncodeDepositContents(const Digest& key, std::string_view contents);
[[nodiscard]] DepositContents DecodeDepositContents(const Digest& key_asked,
                                                    std::string_view bytes);
[[nodiscard]] std::string EncodeDepositRecord(const DepositRecord& record);
[[nodiscard]] std::optional<DepositRecord> DecodeDepositRecord(const Digest& key_asked,
                                                               std::string_view bytes);

}  // namespace cccl_cache::daemon
