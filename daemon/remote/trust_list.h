// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/model/result.h"
#include "proto/signature.h"

namespace cccl_cache::daemon {

/// The public keys whose entries this node accepts. Immutable: shared between threads as
/// shared_ptr<const TrustList>. A reload makes a new list.
class TrustList {
 public:
  /// A list without keys trusts no node.
  explicit TrustList(std::set<PublicKey> keys = {}) : keys_(std::move(keys)) {}

  /// Reads the keys of all files. kDenied: users other than root and this process's user can change
  /// a file. kUnavailable: a file can't be read. kInvalidRequest: a line is no key. After an error
  /// the caller must not keep an older list, because a key in it may have been revoked since.
  [[nodiscard]] static Result<std::shared_ptr<const TrustList>> Load(
      const std::vector<std::string>& files);

  [[nodiscard]] bool Holds(const PublicKey& key) const { return keys_.contains(key); }
  [[nodiscard]] size_t size() const { return keys_.size(); }

 private:
  std::set<PublicKey> keys_;
};

/// Reads the key that signs this node's entries. Returns the errors of TrustList::Load. Also
/// returns kDenied if other users can read the file. The group root may read it. If the file is in
/// $CREDENTIALS_DIRECTORY, its group may read it too.
[[nodiscard]] Result<SigningKey> LoadSigningKey(const std::string& file);
/// Reads the password of Redis from the first line of a file. Returns the errors of LoadSigningKey.
[[nodiscard]] Result<std::string> LoadPassword(const std::string& file);

}  // namespace cccl_cache::daemon
