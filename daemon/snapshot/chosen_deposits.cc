// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/chosen_deposits.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace cccl_cache::daemon {
namespace {

bool Matches(const SnapshotFilter& filter, const ChosenDeposit& deposit) {
  const DepositRecord& record = deposit.record;
  if (!filter.name_space.empty() && filter.name_space != record.name_space) return false;
  if (filter.since && record.used < *filter.since) return false;
  if (filter.until && record.used >= *filter.until) return false;
  return !std::ranges::binary_search(filter.known, deposit.identity);
}

/// Deposits are made by no toolchain and for no architecture that the daemon knows of.
bool NamesDeposits(const SnapshotFilter& filter, const Peer& peer) {
  const bool among = filter.all_users || filter.uids.empty() ||
                     std::ranges::find(filter.uids, peer.uid) != filter.uids.end();
  return among && filter.toolchain.empty() && filter.arch.empty();
}

}  // namespace

std::vector<ChosenDeposit> ChooseDeposits(const Deposits& deposits, const Peer& peer,
                                          const SnapshotFilter& filter) {
  std::vector<ChosenDeposit> chosen;
  if (!NamesDeposits(filter, peer)) return chosen;
  for (DepositRecord& record :
       deposits.List(peer.uid, std::nullopt, std::numeric_limits<size_t>::max())) {
    ChosenDeposit deposit{IdentityOf(record), std::move(record)};
    if (Matches(filter, deposit)) chosen.push_back(std::move(deposit));
  }
  // One may be there twice, private and for a group: the private one goes.
  const auto order = [](const ChosenDeposit& each) {
    return std::pair(each.identity, each.record.scope);
  };
  std::ranges::sort(chosen, {}, order);
  const auto same = [](const ChosenDeposit& a, const ChosenDeposit& b) {
    return a.identity == b.identity;
  };
  chosen.erase(std::unique(chosen.begin(), chosen.end(), same), chosen.end());
  return chosen;
}

}  // namespace cccl_cache::daemon
