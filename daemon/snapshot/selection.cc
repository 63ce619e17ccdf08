// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/selection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace cccl_cache::daemon {
namespace {

// Minimum number of digits of an abbreviated toolchain id in a filter.
constexpr size_t kLeastIdDigits = 8;

bool IsToolchain(std::string_view named, const AnsweredBuild& build) {
  if (named.empty() || named == build.toolchain_version) return true;
  const std::string_view version = build.toolchain_version;
  if (version.substr(0, version.find('.')) == named) return true;
  return named.size() >= kLeastIdDigits && build.toolchain.Hex().starts_with(named);
}

bool IsWanted(const SnapshotFilter& filter, const Digest& key) {
  return !filter.only_wanted || std::ranges::binary_search(filter.wanted, key);
}

bool Matches(const SnapshotFilter& filter, const AnsweredBuild& build) {
  if (!IsToolchain(filter.toolchain, build)) return false;
  if (!filter.arch.empty() && filter.arch != build.arch) return false;
  if (filter.since && build.last < *filter.since) return false;
  if (filter.until && build.last >= *filter.until) return false;
  if (!IsWanted(filter, build.key)) return false;
  return !std::ranges::binary_search(filter.known, build.key);
}

Status Check(const Peer& peer, const SnapshotFilter& filter) {
  if (peer.uid == kOverflowUid) {
    return Error{ErrorCode::kDenied,
                 "uid 65534 stands for many users, so nothing is known to be its own to export"};
  }
  const bool others = filter.all_users ||
                      std::ranges::any_of(filter.uids, [&](uid_t uid) { return uid != peer.uid; });
  if (others && !peer.administrator) {
    return Error{ErrorCode::kDenied,
                 fmt::format("user {} may export what user {} was answered; others' entries are "
                             "for root and the daemon's user to export, and for admin_group, "
                             "outside of containers",
                             peer.uid, peer.uid)};
  }
  return Ok{};
}

bool Matches(const SnapshotFilter& filter, const ChosenDeposit& deposit) {
  const DepositRecord& record = deposit.record;
  if (!filter.name_space.empty() && filter.name_space != record.name_space) return false;
  if (filter.since && record.used < *filter.since) return false;
  if (filter.until && record.used >= *filter.until) return false;
  if (!IsWanted(filter, record.key) && !IsWanted(filter, deposit.identity)) return false;
  return !std::ranges::binary_search(filter.known, deposit.identity);
}

/// Returns whether deposits can match the filter. The daemon does not know the toolchain or the
/// architecture of a deposit, so a filter for one of them matches no deposit.
bool NamesDeposits(const SnapshotFilter& filter, const Peer& peer) {
  const bool among = filter.all_users || filter.uids.empty() ||
                     std::ranges::find(filter.uids, peer.uid) != filter.uids.end();
  return among && filter.toolchain.empty() && filter.arch.empty();
}

}  // namespace

Result<std::vector<ChosenBuild>> ChooseBuilds(AnsweredBuilds& answered, const Peer& peer,
                                              const SnapshotFilter& filter) {
  if (const Status allowed = Check(peer, filter); !allowed) return allowed.error();
  // Compiled artifacts belong to no namespace, so a filter for a namespace matches none.
  if (!filter.name_space.empty()) return std::vector<ChosenBuild>();
  std::vector<uid_t> users = filter.uids;
  if (filter.all_users) users = answered.Users();
  if (!filter.all_users && users.empty()) users = {peer.uid};
  std::ranges::sort(users);
  users.erase(std::unique(users.begin(), users.end()), users.end());
  std::vector<ChosenBuild> chosen;
  for (const uid_t uid : users) {
    for (AnsweredBuild& build : answered.Of(uid)) {
      if (Matches(filter, build)) chosen.push_back({uid, std::move(build)});
    }
  }
  const auto key = [](const ChosenBuild& each) { return each.build.key; };
  std::ranges::stable_sort(chosen, {}, key);
  const auto same = [&](const ChosenBuild& a, const ChosenBuild& b) { return key(a) == key(b); };
  chosen.erase(std::unique(chosen.begin(), chosen.end(), same), chosen.end());
  return chosen;
}

std::vector<ChosenDeposit> ChooseDeposits(const Deposits& deposits, const Peer& peer,
                                          const SnapshotFilter& filter) {
  std::vector<ChosenDeposit> chosen;
  if (!NamesDeposits(filter, peer)) return chosen;
  for (DepositRecord& record :
       deposits.List(peer.uid, std::nullopt, std::numeric_limits<size_t>::max())) {
    ChosenDeposit deposit{IdentityOf(record), std::move(record)};
    if (Matches(filter, deposit)) chosen.push_back(std::move(deposit));
  }
  // The same deposit may exist for the user alone and for a group. The user's own one is taken.
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
