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

/// The properties of a file's text that matter to the cache.
struct FileTraits {
  std::string_view time_token;          ///< as in TextTraits
  bool base_name_token = false;         ///< the text has __BASE_FILE__
  bool function_token_in_code = false;  ///< the text has __PRETTY_FUNCTION__ outside a #define
  PathUses uses;
};

/// Returns the traits of a file with this text. `below` is the file's name relative to its root.
/// The name and the text show whether the file is a header of CCCL.
[[nodiscard]] FileTraits FileTraitsOf(std::string_view below, std::string_view text);

/// Keeps the traits of files in memory for a day, so that a header is not scanned again for each
/// program that reads it. They are separate for each uid. Otherwise the duration of a compile would
/// disclose whether another user has the same file. Limited in bytes, for each account and in
/// total. Thread-safe.
class KnownFileTraits {
 public:
  explicit KnownFileTraits(Now now);

  /// Returns FileTraitsOf(below, text) for a file of this peer. `digest` is the digest of `text`.
  [[nodiscard]] FileTraits Of(const Peer& peer, std::string_view below, const Digest& digest,
                              std::string_view text);

 private:
  ExpiringCache<FileTraits> traits_;  // keyed by uid, digest, and IsNamedLikeCccl() of the name
};

/// KnownFileTraits for the files of one user.
struct UsersFileTraits {
  std::shared_ptr<KnownFileTraits> known = nullptr;  ///< null: each text is scanned
  Peer user = {};

  [[nodiscard]] FileTraits Of(std::string_view below, const Digest& digest,
                              std::string_view text) const {
    return known == nullptr ? FileTraitsOf(below, text) : known->Of(user, below, digest, text);
  }
};

}  // namespace cccl_cache::daemon
