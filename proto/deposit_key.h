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
inline constexpr uint32_t kDepositKeyLayout = 1;

/// To whom a deposit exists.
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

/// The key of what is deposited for this scope under these fields, in whatever order they come; of
/// equal names the order counts. Equal inputs give equal keys on every machine.
[[nodiscard]] Digest DepositKey(const DepositScope& scope, const std::string& name_space,
                                const std::vector<DepositField>& fields);

}  // namespace cccl_cache
