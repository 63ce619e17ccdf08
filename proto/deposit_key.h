// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/digest.h"

namespace cccl_cache {

/// Version of the hashed layout in deposit_key.cc. A change of what is hashed, or of its meaning,
/// bumps it.
inline constexpr uint32_t kDepositKeyLayout = 2;

/// The user or group that may see a deposit.
struct DepositScope {
  enum class Kind : uint8_t { kUser = 1, kGroup = 2 };  // stored: values never change

  auto operator<=>(const DepositScope&) const = default;

  Kind kind = Kind::kUser;
  uint32_t id = 0;  ///< a uid or a gid
};

/// One thing that decides whether two deposits are the same.
struct DepositField {
  std::string name;
  std::string value;  ///< any bytes
};

/// Returns the digest of the fields, in any order. The order of fields of one name counts.
[[nodiscard]] Digest DepositFieldsDigest(const std::vector<DepositField>& fields);

/// Returns the identity of a deposit, independent of its owner. Snapshots use it to carry a deposit
/// from one user to another.
[[nodiscard]] Digest DepositIdentity(const std::string& name_space, const Digest& fields);

/// The key of a deposit with this scope. Equal inputs give equal keys on every machine.
[[nodiscard]] Digest DepositKey(const DepositScope& scope, const Digest& identity);
[[nodiscard]] Digest DepositKey(const DepositScope& scope, const std::string& name_space,
                                const std::vector<DepositField>& fields);

/// The key of what nodes share for a group, which may have another number on each of them.
[[nodiscard]] Digest SharedDepositKey(const std::string& group, const Digest& identity);

}  // namespace cccl_cache
