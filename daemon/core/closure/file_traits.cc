// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/file_traits.h"

#include <chrono>
#include <utility>

#include "daemon/core/closure/source_scan.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::hours kLifetime{24};
// Limit for all users together, enough for 40,000 files. A whole CCCL tree has 2,000.
constexpr size_t kTraitsBytes = 16 << 20;

Digest KeyOf(uid_t uid, const Digest& digest, bool named_like_cccl) {
  Hasher hasher;
  hasher.AppendValue("file", digest.View());
  hasher.AppendValue("uid", uid);
  hasher.AppendValue("named like CCCL's", named_like_cccl ? 1 : 0);
  return hasher.Finish();
}

}  // namespace

FileTraits FileTraitsOf(std::string_view below, std::string_view text) {
  const TextTraits found = ScanText(text);
  FileTraits traits{.time_token = found.time_token,
                    .base_name_token = found.base_name_token,
                    .function_token_in_code = found.function_token_in_code,
                    .uses = PathUsesIn(text, IsOfCccl(below, text))};
  traits.uses.as_number = traits.uses.as_number || found.canonical_name;
  return traits;
}

KnownFileTraits::KnownFileTraits(Now now) : traits_(kLifetime, kTraitsBytes, std::move(now)) {}

FileTraits KnownFileTraits::Of(const Peer& peer, std::string_view below, const Digest& digest,
                               std::string_view text) {
  // Several users may share the overflow uid, so their traits are not kept.
  if (peer.uid == kOverflowUid) return FileTraitsOf(below, text);
  const Digest key = KeyOf(peer.uid, digest, IsNamedLikeCccl(below));
  if (const auto known = traits_.Find(key)) return *known;
  const FileTraits traits = FileTraitsOf(below, text);
  traits_.Remember(key, peer.account(), traits, sizeof(traits));
  return traits;
}

}  // namespace cccl_cache::daemon
