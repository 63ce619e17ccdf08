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
#include "daemon/core/model/statistics.h"
#include "daemon/remote/trust_list.h"
#include "proto/digest.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// The reason why an entry is refused.
enum class EntryRefusal : uint8_t {
  kMalformed,  ///< the bytes are no entry of this version, or are cut off
  kOtherKey,   ///< the entry was signed for another key
  kUntrusted,  ///< the signer is not in the trust list
  kForged,     ///< the signature is invalid
  kExpired,    ///< signed too long ago, or in the future
  kTooLarge,   ///< the decompressed entry is larger than the caller's limit
  kCorrupt,    ///< the signature is valid, but the contents have another digest or are no entry
               ///< that this version reads
};

/// The rules for accepting an entry. `trusted` must outlive the call.
struct OpeningRules {
  const TrustList& trusted;
  std::chrono::sys_seconds now;
  std::chrono::seconds max_age;
  uint64_t max_bytes = 0;  ///< limit of the decompressed entry, in bytes
};

/// Limit of the time by which another node's clock may be ahead of this node's.
inline constexpr std::chrono::seconds kMaxClockAhead{600};

/// Returns roughly how many bytes of memory an entry needs. The entry must not be empty.
[[nodiscard]] uint64_t FootprintOf(const SharedEntry& entry);

/// Returns roughly how many bytes an entry, which is not empty, has when encoded, before
/// compression.
[[nodiscard]] uint64_t EncodedSizeOf(const SharedEntry& entry);

/// Returns the bytes of an entry with their signature. They may be stored where every node can
/// write. kInvalidRequest: the entry is too large for any node. kUnavailable: no memory is left.
[[nodiscard]] Result<std::string> SignEntry(const EntryName& name, const SharedEntry& entry,
                                            const SigningKey& key,
                                            std::chrono::sys_seconds signed_at);

/// Returns the entry that a trusted node signed under the name `asked`, or why the entry is
/// refused. `bytes` are not trusted: they are decompressed only if a key in the trust list signed
/// them, and only up to `rules.max_bytes`.
[[nodiscard]] std::variant<SharedEntry, EntryRefusal> OpenEntry(const EntryName& asked,
                                                                std::string_view bytes,
                                                                const OpeningRules& rules);

/// Returns the counter of entries that are refused for this reason.
[[nodiscard]] Counter CounterOf(EntryRefusal refusal);
/// Returns the reason in words.
[[nodiscard]] const char* WhyRefused(EntryRefusal refusal);

}  // namespace cccl_cache::daemon
