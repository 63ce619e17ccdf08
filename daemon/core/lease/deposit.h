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

#include "proto/deposit_key.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The bytes of a deposit, shared by all whom they are handed to.
using DepositContents = std::shared_ptr<const std::string>;

/// What is known of a deposit besides its contents.
struct DepositRecord {
  Digest key;
  uid_t uid = 0;  ///< who deposited it: on whose account it is kept, who may list and remove it
  DepositScope scope;
  std::string name_space;
  Digest fields;  ///< of what it was made from: with the namespace its identity
  uint64_t size = 0;
  std::chrono::sys_seconds made{};
  std::chrono::sys_seconds used{};  ///< roughly: see DepositIndex::Use
};

[[nodiscard]] inline Digest IdentityOf(const DepositRecord& record) {
  return DepositIdentity(record.name_space, record.fields);
}

/// Where deposits survive a restart. Thread-safe. Nothing waits for a disk but Get and Records.
class DepositStore {
 public:
  virtual ~DepositStore() = default;

  /// Null: it is not there, or does not verify.
  virtual DepositContents Get(const Digest& key) = 0;
  /// The same without waiting for a disk. Null: that may have it.
  virtual DepositContents FindInMemory(const Digest& key) = 0;
  /// False: there is no room, and it is not kept.
  [[nodiscard]] virtual bool Put(const DepositRecord& record, DepositContents contents) = 0;
  /// Replaces the record of what is there.
  virtual void PutRecord(const DepositRecord& record) = 0;
  virtual void Remove(const Digest& key) = 0;
  /// All, in no order: read once, at the start.
  virtual std::vector<DepositRecord> Records() = 0;
};

/// The forms in which a deposit leaves the process: self-describing, sealed by a checksum, bound to
/// their key. docs/internals/entry-format.md says them byte by byte. Decoders take bytes from
/// anybody, and give nothing when anything does not verify.
[[nodiscard]] std::string EncodeDepositContents(const Digest& key, std::string_view contents);
[[nodiscard]] DepositContents DecodeDepositContents(const Digest& key_asked,
                                                    std::string_view bytes);
[[nodiscard]] std::string EncodeDepositRecord(const DepositRecord& record);
[[nodiscard]] std::optional<DepositRecord> DecodeDepositRecord(const Digest& key_asked,
                                                               std::string_view bytes);

}  // namespace cccl_cache::daemon
