// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/header_set_traits.h"

#include <chrono>
#include <utility>

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::hours kSetLifetime{24};
// Limit for all users together, enough for 2,000 sets.
constexpr size_t kSetTraitsBytes = 2 << 20;

Digest SetKeyOf(uid_t uid, const Digest& digest) {
  Hasher hasher;
  hasher.AppendValue("header set", digest.View());
  hasher.AppendValue("uid", uid);
  return hasher.Finish();
}

}  // namespace

void Merge(const TextTraits& text, TextTraits* traits) {
  if (traits->time_token.empty()) traits->time_token = text.time_token;
  traits->path_token = traits->path_token || text.path_token;
  traits->assertion = traits->assertion || text.assertion;
  traits->base_name_token = traits->base_name_token || text.base_name_token;
  traits->function_token = traits->function_token || text.function_token;
  traits->may_paste = traits->may_paste || text.may_paste;
}

HeaderSetTraits TraitsOf(const HeaderSet& set) {
  HeaderSetTraits traits;
  for (const HeaderText& header : set.headers) {
    Merge(ScanText(header.contents), &traits.written);
    traits.parts |= PartsIn(header.contents);
    traits.uses |= PathUsesIn(header.contents, false);
    const size_t nul = header.contents.find('\0');
    if (nul != std::string_view::npos && !traits.nul) {
      traits.nul = {std::string(header.name), nul};
    }
  }
  return traits;
}

KnownHeaderSets::KnownHeaderSets(Now now)
    : traits_(kSetLifetime, kSetTraitsBytes, std::move(now)) {}

std::optional<HeaderSetTraits> KnownHeaderSets::Of(const Peer& peer, const HeaderSet& set) {
  const Digest key = SetKeyOf(peer.uid, set.digest);
  if (auto known = traits_.Find(key)) return known;
  if (!set.has_contents()) return std::nullopt;
  HeaderSetTraits traits = TraitsOf(set);
  traits_.Remember(key, peer.account(), traits,
                   sizeof(traits) + (traits.nul ? traits.nul->header.size() : 0));
  return traits;
}

}  // namespace cccl_cache::daemon
