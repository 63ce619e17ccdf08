// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "daemon/core/closure/path_uses.h"
#include "daemon/core/closure/source_scan.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/expiring_cache.h"
#include "proto/header_set.h"

namespace cccl_cache::daemon {

/// The properties of the texts of a header set that matter to the cache.
struct HeaderSetTraits {
  TextTraits written;
  NameParts parts;  ///< identifiers from which a name such as __FILE__ could be pasted
  PathUses uses;
  struct Nul {
    std::string header;
    size_t offset = 0;
  };
  std::optional<Nul> nul;  ///< the first zero byte, at which the compiler would stop; none if there
                           ///< is none
};

/// Returns the traits of a set with contents.
[[nodiscard]] HeaderSetTraits TraitsOf(const HeaderSet& set);

/// Adds the traits of one text to those of a program.
void Merge(const TextTraits& text, TextTraits* traits);

/// Keeps the traits of header sets in memory for a day. So a set is scanned once, and a build whose
/// result is cached needs only its digest. The traits also prove that this uid has sent the set, so
/// they are separate for each uid. Thread-safe.
class KnownHeaderSets {
 public:
  explicit KnownHeaderSets(Now now);

  /// Returns the traits of a set that this peer names. None: the set has no contents, and this peer
  /// has sent none lately.
  [[nodiscard]] std::optional<HeaderSetTraits> Of(const Peer& peer, const HeaderSet& set);

 private:
  ExpiringCache<HeaderSetTraits> traits_;  // keyed by uid and digest
};

}  // namespace cccl_cache::daemon
