// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/answered_ledger.h"

#include <algorithm>
#include <utility>

#include "daemon/core/model/peer.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMostWaiting = 65'536;

}  // namespace

void AnsweredLedger::Note(uid_t uid, AnsweredBuild build) {
  if (uid == kOverflowUid) return;
  const std::lock_guard lock(mutex_);
  const std::pair place(uid, build.key);
  if (waiting_.size() + writing_.size() >= kMostWaiting && !waiting_.contains(place)) return;
  waiting_.insert_or_assign(place, std::move(build));
}

std::vector<AnsweredBuild> AnsweredLedger::Of(uid_t uid) {
  AnsweredTable::Rows rows;
  const auto add = [&](const AnsweredTable::Rows& from) {
    for (const auto& [place, build] : from) {
      if (place.first == uid) rows.insert_or_assign(place, build);
    }
  };
  // First what is on its way, so that none is missed that arrives meanwhile; later, it counts more.
  AnsweredTable::Rows unwritten;
  {
    const std::lock_guard lock(mutex_);
    add(writing_);
    add(waiting_);
    std::swap(rows, unwritten);
  }
  if (const auto database = slot_.Get()) AnsweredTable::Read(*database, uid, &rows);
  add(unwritten);
  std::vector<AnsweredBuild> builds;
  builds.reserve(rows.size());
  for (auto& [place, build] : rows) builds.push_back(std::move(build));
  return builds;
}

bool AnsweredLedger::Has(uid_t uid, const cccl_cache::Digest& key) {
  {
    const std::lock_guard lock(mutex_);
    const std::pair place(uid, key);
    if (waiting_.contains(place) || writing_.contains(place)) return true;
  }
  const auto database = slot_.Get();
  return database && AnsweredTable::Has(*database, uid, key);
}

std::vector<uid_t> AnsweredLedger::Users() {
  std::vector<uid_t> users;
  {
    const std::lock_guard lock(mutex_);
    for (const auto* rows : {&writing_, &waiting_}) {
      for (const auto& [place, build] : *rows) users.push_back(place.first);
    }
  }
  if (const auto database = slot_.Get()) AnsweredTable::ReadUsers(*database, &users);
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

const AnsweredTable::Rows& AnsweredLedger::Next() {
  const std::lock_guard lock(mutex_);
  for (auto& [place, build] : waiting_) writing_.insert_or_assign(place, std::move(build));
  waiting_.clear();
  return writing_;
}

void AnsweredLedger::Written() {
  AnsweredTable::Rows written;  // freed after the lock
  const std::lock_guard lock(mutex_);
  written = std::exchange(writing_, {});
}

}  // namespace cccl_cache::daemon
