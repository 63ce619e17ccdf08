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
  enum class Kind : uint8_t { kUser = 1, kGroup = 2 };  // stored on disk: never change the values

  auto operator<=>(const DepositScope&) const = default;

  Kind kind = Kind::kUser;
  uint32_t id = 0;  ///< a uid if `kind` is kUser, else a gid
};

/// One named input from which the deposited result was computed.
struct DepositField {
  std::string name;
  std::string value;  ///< any bytes
};

/// Returns the digest of the fields. Their order matters only among fields with the same name.
[[nodiscard]] Digest DepositFieldsDigest(const std::vector<DepositField>& fields);

/// Returns the identity of a deposit: the digest of its namespace and of DepositFieldsDigest(). It
/// does not depend on the user or group. A snapshot has the identity instead of the key, so that
/// another user can import the deposit.
[[nodiscard]] Digest DepositIdentity(const std::string& name_space, const Digest& fields);

/// Returns the key under which the deposit is stored for this user or group. Equal arguments give
/// equal keys on every machine.
[[nodiscard]] Digest DepositKey(const DepositScope& scope, const Digest& identity);
[[nodiscard]] Digest DepositKey(const DepositScope& scope, const std::string& name_space,
                                const std::vector<DepositField>& fields);

/// Returns the key under which several nodes share a deposit for a group. It has the group's name,
/// because the gid may differ from node to node.
[[nodiscard]] Digest SharedDepositKey(const std::string& group, const Digest& identity);

}  // namespace cccl_cache
