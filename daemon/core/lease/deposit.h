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

/// The bytes of a deposit, which is an artifact that a client has made itself and stored in the
/// daemon. Callers share them. Null stands for no deposit.
using DepositContents = std::shared_ptr<const std::string>;

/// Describes a stored deposit.
struct DepositRecord {
  Digest key;
  uid_t uid = 0;  ///< the user who stored it; its account is charged, and it may list and remove
                  ///< the deposit
  DepositScope scope;
  bool is_fetched = false;  ///< for a group's: another node's, which `uid` has fetched and not made
  std::string name_space;
  Digest fields;  ///< digest of the fields by which the client names the deposit; unique in its
                  ///< namespace
  uint64_t size = 0;
  std::chrono::sys_seconds made{};
  std::chrono::microseconds took{};  ///< time from the lease to the publication; 0 if unknown, as
                                     ///< for a deposit from a snapshot
  std::chrono::sys_seconds used{};   ///< time of the last use, up to one hour too early: see
                                     ///< DepositIndex::Use
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
  /// Like Get, but does not wait for a disk. If it returns null, the deposit may still be on the
  /// disk.
  virtual DepositContents FindInMemory(const Digest& key) = 0;
  /// Stores the deposit. Returns false, and stores nothing, if there is no room.
  [[nodiscard]] virtual bool Put(const DepositRecord& record, DepositContents contents) = 0;
  /// Replaces the record of an existing deposit.
  virtual void PutRecord(const DepositRecord& record) = 0;
  virtual void Remove(const Digest& key) = 0;
  /// Returns the records of all stored deposits, in any order. Waits for the disk.
  virtual std::vector<DepositRecord> Records() = 0;
};

/// Convert contents and records to the bytes that are stored, and back. The bytes contain a
/// version, the key and a checksum: see docs/internals/entry-format.md. Bytes for the decoders may
/// be untrusted. The decoders return null or none unless all bytes are valid.
[[nodiscard]] std::string EncodeDepositContents(const Digest& key, std::string_view contents);
[[nodiscard]] DepositContents DecodeDepositContents(const Digest& key_asked,
                                                    std::string_view bytes);
[[nodiscard]] std::string EncodeDepositRecord(const DepositRecord& record);
[[nodiscard]] std::optional<DepositRecord> DecodeDepositRecord(const Digest& key_asked,
                                                               std::string_view bytes);

}  // namespace cccl_cache::daemon
