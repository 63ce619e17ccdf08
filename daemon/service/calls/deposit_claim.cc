// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/deposit_claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace cccl_cache::daemon {
namespace {

/// What stands for the groups of other user namespaces, as kOverflowUid does for their users.
constexpr gid_t kOverflowGid = 65534;

}  // namespace

Result<DepositClaim> ClaimOf(const DepositAsk& ask, const Peer& peer) {
  using Kind = cccl_cache::DepositScope::Kind;
  DepositClaim claim;
  claim.uid = peer.uid;
  claim.counted_as = peer.counted_as;
  claim.scope = {Kind::kUser, peer.uid};
  if (ask.gid) {
    const gid_t gid = *ask.gid;
    const bool member = gid == peer.gid || std::ranges::binary_search(peer.groups, gid);
    // Before anything is looked up: the answer says nothing of what there is.
    if (!member || gid == kOverflowGid) {
      return Error{ErrorCode::kDenied,
                   fmt::format("user {} was not in group {} when it connected", peer.uid, gid)};
    }
    claim.scope = {Kind::kGroup, gid};
  }
  claim.name_space = ask.name_space;
  claim.wait = ask.wait;
  claim.fields = cccl_cache::DepositFieldsDigest(ask.fields);
  claim.key = cccl_cache::DepositKey(claim.scope,
                                     cccl_cache::DepositIdentity(claim.name_space, claim.fields));
  return claim;
}

}  // namespace cccl_cache::daemon
