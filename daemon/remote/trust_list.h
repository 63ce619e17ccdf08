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
  /// the caller must trust no key: an older list may have one that was revoked since.
  [[nodiscard]] static Result<std::shared_ptr<const TrustList>> Load(
      const std::vector<std::string>& files);

  [[nodiscard]] bool Holds(const PublicKey& key) const { return keys_.contains(key); }
  [[nodiscard]] size_t size() const { return keys_.size(); }

 private:
  std::set<PublicKey> keys_;
};

/// Reads the key that signs this node's entries. Errors as for Load; kDenied also if other users
/// can read the file. Root's group may, and any group if the file is in $CREDENTIALS_DIRECTORY.
[[nodiscard]] Result<SigningKey> LoadSigningKey(const std::string& file);
/// Reads the password of Redis: the first line of a file. Errors as for LoadSigningKey.
[[nodiscard]] Result<std::string> LoadPassword(const std::string& file);

}  // namespace cccl_cache::daemon
