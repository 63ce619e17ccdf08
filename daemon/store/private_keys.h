// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Which private entries users have, as far as memory holds it: exactly, or not at all for a user
/// who has too many or whose keys nobody has read yet. Not thread-safe.
class PrivateKeys {
 public:
  using Keys = std::unordered_set<cccl_cache::Digest, cccl_cache::DigestHash>;
  struct Bounds {
    size_t per_user = 64 << 10;
    size_t in_all = 256 << 10;  ///< 64 bytes each, or so
  };

  explicit PrivateKeys(const Bounds& bounds) : bounds_(bounds) {}

  /// The user has some, nobody knows which.
  void AddUser(uid_t uid) { users_.try_emplace(uid); }
  [[nodiscard]] bool MayHave(uid_t uid, const cccl_cache::Digest& key) const;
  /// Whether it would be of use to read the user's keys.
  [[nodiscard]] bool Lacks(uid_t uid) const;
  /// These are all that the user has.
  void Learn(uid_t uid, Keys keys);
  void Add(uid_t uid, const cccl_cache::Digest& key);
  void Remove(uid_t uid, const cccl_cache::Digest& key);
  /// Nobody knows any more what the user has.
  void Forget(uid_t uid);
  [[nodiscard]] size_t most_per_user() const { return bounds_.per_user; }

 private:
  struct User {
    std::optional<Keys> keys;
    bool too_many = false;
  };
  /// Unless the user, or all, have too many.
  void Count(User& user, size_t added);
  void Drop(User& user);

  const Bounds bounds_;
  std::unordered_map<uid_t, User> users_;  // who may have any
  size_t known_ = 0;                       // keys of all
};

}  // namespace cccl_cache::daemon
