// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/lease/deposit.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// What a snapshot holds of one deposit, before compression: nothing of whose it was. Whoever
/// inserts it has it alone.
struct DepositCopy {
  std::string name_space;
  cccl_cache::Digest fields;  ///< of what it was made from
  DepositContents contents;   ///< never null

  /// Under which it stands in a snapshot.
  [[nodiscard]] cccl_cache::Digest identity() const {
    return cccl_cache::DepositIdentity(name_space, fields);
  }
};

/// docs/snapshot-format.md says it byte by byte.
[[nodiscard]] std::string EncodeDepositCopy(const DepositCopy& copy);

/// How many bytes of contents a copy of so many bytes holds, which is what a deposit counts. 0 for
/// a size that no copy has.
[[nodiscard]] uint64_t ContentsSize(std::string_view name_space, uint64_t copy_bytes);

/// None if anything is malformed, or another identity than that of the index comes of it. `bytes`
/// may come from anybody.
[[nodiscard]] std::optional<DepositCopy> DecodeDepositCopy(const cccl_cache::Digest& identity,
                                                           std::string_view bytes);

}  // namespace cccl_cache::daemon
