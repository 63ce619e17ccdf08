// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/sent_contents.h"

#include <chrono>
#include <utility>

#include "daemon/core/model/peer.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::Digest;

// One account may have an eighth of each: all that a build takes from a CCCL tree, and the digests
// of several trees.
constexpr size_t kContentsBytes = 256u << 20;
constexpr size_t kDigestBytes = 64u << 20;
constexpr std::chrono::minutes kContentsLifetime{10};
constexpr std::chrono::hours kDigestLifetime{24};

Digest UsersKey(uid_t uid, const Digest& digest) {
  cccl_cache::Hasher hasher;
  hasher.AppendValue("uid", uid);
  hasher.AppendValue("sent", digest.View());
  return hasher.Finish();
}

}  // namespace

SentContents::SentContents(Now now)
    : contents_(kContentsLifetime, kContentsBytes, now),
      sent_(kDigestLifetime, kDigestBytes, now) {}

void SentContents::Keep(uid_t uid, Account account, const Digest& digest,
                        std::shared_ptr<const std::string> bytes) {
  if (uid == kOverflowUid) return;
  const Digest key = UsersKey(uid, digest);
  sent_.Remember(key, account, true, 0);
  // Stands for all of them.
  if (const Digest any = UsersKey(uid, {}); !sent_.Find(any)) sent_.Remember(any, account, true, 0);
  const size_t size = bytes->size();
  contents_.Remember(key, account, std::move(bytes), size);
}

bool SentContents::WasSent(uid_t uid, const Digest& digest) {
  return sent_.Find(UsersKey(uid, digest)).value_or(false);
}

std::shared_ptr<const std::string> SentContents::Find(uid_t uid, const Digest& digest) {
  return contents_.Find(UsersKey(uid, digest)).value_or(nullptr);
}

}  // namespace cccl_cache::daemon
