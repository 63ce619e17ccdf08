// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/digest.h"

namespace cccl_cache {

/// Version of the hashed layout in deposit_key.cc. Increase it with every change of the hashed
/// values or their meaning.
inline constexpr uint32_t kDepositKeyLayout = 2;

/// The user or group that may see a deposit.
struct DepositScope {
  enum class Kind : uint8_t { kUser = 1, kGroup = 2 };  // stored: values never change

  auto operator<=>(const DepositScope&) const = default;

  Kind kind = Kind::kUser;
  uint32_t id = 0;  ///< a uid or a gid
};

/// One input of a deposit's identity.
struct DepositField {
  std::string name;
  std::string value;  ///< any bytes
};

/// Returns the digest of the fields in any order; only the order of fields with equal names counts.
[[nodiscard]] Digest DepositFieldsDigest(const std::vector<DepositField>& fields);

/// Returns the identity of a deposit, independent of its owner. Snapshots use it to carry a deposit
/// from one user to another.
[[nodiscard]] Digest DepositIdentity(const std::string& name_space, const Digest& fields);

/// Returns the key of a deposit with this scope. Equal inputs give equal keys on every machine.
[[nodiscard]] Digest DepositKey(const DepositScope& scope, const Digest& identity);
[[nodiscard]] Digest DepositKey(const DepositScope& scope, const std::string& name_space,
                                const std::vector<DepositField>& fields);

/// Returns the key of a deposit that nodes share for a group, which may have another gid on each
/// node.
[[nodiscard]] Digest SharedDepositKey(const std::string& group, const Digest& identity);

}  // namespace cccl_cache
