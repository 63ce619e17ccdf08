// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "daemon/core/closure/path_uses.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/expiring_cache.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The properties of one file's text that matter to the cache besides its bytes.
struct FileTraits {
  std::string_view time_token;          ///< as in TextTraits
  bool base_name_token = false;         ///< __BASE_FILE__
  bool function_token_in_code = false;  ///< __PRETTY_FUNCTION__ outside a #define
  PathUses uses;
};

/// Returns the traits of a file with this text. `below` is its name relative to a directory of -I;
/// by it and by the text, CCCL's own headers are recognized.
[[nodiscard]] FileTraits FileTraitsOf(std::string_view below, std::string_view text);

/// The traits of files that users' programs read, kept for a day in memory, so that a header is not
/// scanned again for each program. Each uid has its own: otherwise the time of a compile would
/// disclose that another user has the same file. Bounded in bytes, for each account and for all
/// together. Thread-safe.
class KnownFileTraits {
 public:
  explicit KnownFileTraits(Now now);

  /// Returns FileTraitsOf(below, text) for a file of this peer. `digest`: the text's.
  [[nodiscard]] FileTraits Of(const Peer& peer, std::string_view below, const Digest& digest,
                              std::string_view text);

 private:
  ExpiringCache<FileTraits> traits_;  // by uid, digest, and whether the name is like CCCL's
};

/// The traits of one user's files.
struct UsersFileTraits {
  std::shared_ptr<KnownFileTraits> known = nullptr;  ///< null: each text is scanned
  Peer user = {};

  [[nodiscard]] FileTraits Of(std::string_view below, const Digest& digest,
                              std::string_view text) const {
    return known == nullptr ? FileTraitsOf(below, text) : known->Of(user, below, digest, text);
  }
};

}  // namespace cccl_cache::daemon
