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

/// Why an entry is not taken.
enum class EntryRefusal : uint8_t {
  kMalformed,  ///< not an entry of this version, or cut off
  kOtherKey,   ///< an entry for another name
  kUntrusted,  ///< its signer is not in the trust list
  kForged,     ///< the signer did not sign this
  kExpired,    ///< too old, or signed in the future
  kTooLarge,   ///< larger, once decompressed, than the caller takes
  kCorrupt,    ///< signed, but its contents differ or are no entry
};

/// The rules by which an entry is taken. The list must outlive the call.
struct OpeningRules {
  const TrustList& trusted;
  std::chrono::sys_seconds now;
  std::chrono::seconds max_age;
  uint64_t max_bytes = 0;  ///< of an entry, decompressed
};

/// How far another node's clock may be ahead.
inline constexpr std::chrono::seconds kMaxClockAhead{600};

/// Returns the bytes in which an entry lies where every node can write.
/// kInvalidRequest: it is too large for any node. kUnavailable: no memory.
[[nodiscard]] Result<std::string> SignEntry(const SharedEntry& name, const Artifact& artifact,
                                            const SigningKey& key,
                                            std::chrono::sys_seconds signed_at);

/// Returns the entry that a trusted node signed under this name, or why it is refused. `bytes` are
/// untrusted: nothing is decompressed unless a key of the list signed it, and never more than the
/// rules say.
[[nodiscard]] std::variant<ArtifactPtr, EntryRefusal> OpenEntry(const SharedEntry& asked,
                                                                std::string_view bytes,
                                                                const OpeningRules& rules);

}  // namespace cccl_cache::daemon
