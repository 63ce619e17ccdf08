// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/model/result.h"
#include "daemon/remote/trust_list.h"
#include "proto/digest.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// Size of the random token that a lease's value ends with. It tells the holder from all others.
inline constexpr size_t kLeaseTokenBytes = 32;

/// The statement of a node that it holds the lease on a deposit. Each renewal is another statement,
/// so a server that repeats an old one can't make other nodes wait.
struct SignedLease {
  std::string token;
  uint64_t renewals = 0;
};

/// Returns the value of the lease on the deposit with this key: a signed entry with the statement,
/// and the token once more. Errors are those of SignEntry.
[[nodiscard]] Result<std::string> SignLease(const Digest& deposit, const SignedLease& lease,
                                            const SigningKey& key,
                                            std::chrono::sys_seconds signed_at);

/// Returns the lease that a trusted node holds. None if `value`, which is not trusted, is no such
/// lease, or is older than clocks may differ.
[[nodiscard]] std::optional<SignedLease> OpenLease(const Digest& deposit, std::string_view value,
                                                   const TrustList& trusted,
                                                   std::chrono::sys_seconds now);

}  // namespace cccl_cache::daemon
