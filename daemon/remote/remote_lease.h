// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/model/cluster.h"
#include "daemon/remote/signed_lease.h"
#include "daemon/remote/trust_list.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

// The value of a lease ends with a random token of its holder. Before the token, a lease on a
// deposit has the holder's signature (signed_lease.h), and a lease on a compile has "UID:" once the
// compile waits for files of one user.

/// No value of a lease is longer, in bytes. More of one is not read.
inline constexpr uint64_t kMaxLeaseBytes = 4096;

// Scripts for Redis. KEYS are the lease, ARGV the token of a node. They do nothing unless the node
// holds the lease.
/// Further ARGV: the lease's new value, and how long it lasts, in milliseconds.
inline constexpr std::string_view kRenewLease =
    "if redis.call('getrange',KEYS[1],-32,-1)==ARGV[1] then "
    "redis.call('set',KEYS[1],ARGV[2],'px',ARGV[3]) end return 0";
inline constexpr std::string_view kReleaseLease =
    "if redis.call('getrange',KEYS[1],-32,-1)==ARGV[1] then redis.call('del',KEYS[1]) end return 0";

[[nodiscard]] std::string NewLeaseToken();

/// Returns the value of the lease that this node holds, or asks for. `files_of` is the user for
/// whose files the compile waits.
[[nodiscard]] std::string LeaseValue(const Cluster::Question& question, const SignedLease& lease,
                                     std::optional<uid_t> files_of, const SigningKey& key);

/// Another node's lease on the compile or the deposit of one question. Not thread-safe.
class LeaseWatch {
 public:
  struct Lease {
    std::optional<uid_t> files_of = {};  ///< the user for whose files the compile waits
  };

  /// Returns the lease in `value`, which is not trusted. None if it is empty, because there is no
  /// lease, or if no node writes such a value. A lease on a deposit counts only if a trusted node
  /// has signed it, and renews it, because a node may wait for it for minutes. A lease on a compile
  /// is not signed, because the wait is short. `lease` is the duration of a lease without renewal.
  [[nodiscard]] std::optional<Lease> Read(const Cluster::Question& question, std::string_view value,
                                          const TrustList& trusted,
                                          std::chrono::milliseconds lease);

 private:
  // Of a deposit: the last value that counted, and when it was first seen.
  std::string seen_;
  SignedLease seen_lease_;
  std::chrono::steady_clock::time_point seen_at_;
};

}  // namespace cccl_cache::daemon
