// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/private_keys.h"

#include <utility>

namespace cccl_cache::daemon {

using cccl_cache::Digest;

bool PrivateKeys::MayHave(uid_t uid, const Digest& key) const {
  const auto user = users_.find(uid);
  if (user == users_.end()) return false;
  return !user->second.keys || user->second.keys->contains(key);
}

bool PrivateKeys::Lacks(uid_t uid) const {
  const auto user = users_.find(uid);
  return user != users_.end() && !user->second.keys && !user->second.too_many;
}

void PrivateKeys::Learn(uid_t uid, Keys keys) {
  User& user = users_[uid];
  Drop(user);
  const size_t added = keys.size();
  user.keys = std::move(keys);
  Count(user, added);
}

void PrivateKeys::Add(uid_t uid, const Digest& key) {
  User& user = users_[uid];
  if (user.keys && user.keys->insert(key).second) Count(user, 1);
}

void PrivateKeys::Remove(uid_t uid, const Digest& key) {
  const auto user = users_.find(uid);
  if (user == users_.end() || !user->second.keys) return;
  known_ -= user->second.keys->erase(key);
}

void PrivateKeys::Forget(uid_t uid) { Drop(users_[uid]); }

void PrivateKeys::Count(User& user, size_t added) {
  known_ += added;
  if (user.keys->size() <= bounds_.per_user && known_ <= bounds_.in_all) return;
  Drop(user);
  user.too_many = true;
}

void PrivateKeys::Drop(User& user) {
  if (user.keys) known_ -= user.keys->size();
  user.keys.reset();
}

}  // namespace cccl_cache::daemon
