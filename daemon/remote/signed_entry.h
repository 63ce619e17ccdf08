// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/core/model/artifact.h"
#include "daemon/core/model/cluster.h"
#include "daemon/core/model/result.h"
#include "daemon/remote/trust_list.h"
#include "proto/digest.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// The reason why an entry is refused.
enum class EntryRefusal : uint8_t {
  kMalformed,  ///< no entry of this version, or cut off
  kOtherKey,   ///< an entry of another key
  kUntrusted,  ///< its signer is not in the trust list
  kForged,     ///< the signature is invalid
  kExpired,    ///< too old, or signed in the future
  kTooLarge,   ///< larger, decompressed, than the caller's limit
  kCorrupt,    ///< validly signed, but the contents have another digest or are no entry
               ///< that this version reads
};

/// The rules for accepting an entry. The list must outlive the call.
struct OpeningRules {
  const TrustList& trusted;
  std::chrono::sys_seconds now;
  std::chrono::seconds max_age;
  uint64_t max_bytes = 0;  ///< limit of a decompressed entry
};

/// Limit of how far another node's clock may be ahead.
inline constexpr std::chrono::seconds kMaxClockAhead{600};

/// Returns roughly how many bytes an entry, which is not empty, holds in memory.
[[nodiscard]] uint64_t FootprintOf(const SharedEntry& entry);

/// Returns roughly how many bytes an entry, which is not empty, has when encoded, before
/// compression.
[[nodiscard]] uint64_t EncodedSizeOf(const SharedEntry& entry);

/// Returns the signed bytes of an entry, which may be stored where every node can write.
/// kInvalidRequest: it is too large for any node. kUnavailable: no memory.
[[nodiscard]] Result<std::string> SignEntry(const EntryName& name, const SharedEntry& entry,
                                            const SigningKey& key,
                                            std::chrono::sys_seconds signed_at);

/// Returns the entry that a trusted node signed under this key, or why it is refused. `bytes` are
/// untrusted: they are decompressed only if a key of the list signed them, and only up to
/// `max_bytes`.
[[nodiscard]] std::variant<SharedEntry, EntryRefusal> OpenEntry(const EntryName& asked,
                                                                std::string_view bytes,
                                                                const OpeningRules& rules);

}  // namespace cccl_cache::daemon
