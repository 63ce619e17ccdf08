// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/deposits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace cccl_cached {
namespace {

using cccl_cache::Digest;

constexpr std::string_view kEpochName = "lease-epoch";
/// A run of the daemon grants fewer leases than this.
constexpr int kFenceBits = 32;
/// A holder may miss so many heartbeats.
constexpr int kHeartbeats = 3;

/// Counts the runs of the daemon, so that no number is given out twice.
uint64_t FirstFence(MetaStore& meta) {
  uint64_t epoch = 0;
  const std::string last = meta.GetMeta(kEpochName).value_or("");
  std::from_chars(last.data(), last.data() + last.size(), epoch);
  meta.PutMeta(kEpochName, std::to_string(++epoch));
  return epoch << kFenceBits;
}

std::chrono::sys_seconds WallTime() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace

Deposits::Deposits(Options options, Parts parts)
    : options_(std::move(options)),
      parts_(parts),
      index_(options_.limits),
      table_({.first_fence = FirstFence(parts.meta),
              .patience = kHeartbeats * options_.heartbeat,
              .longest = options_.longest_lease,
              .now = options_.now,
              .sooner = [this] { clock_.Wake(); }}),
      clock_(table_) {
  std::vector<DepositRecord> records = parts_.store.Records();
  std::ranges::sort(records, {}, &DepositRecord::used);
  for (const DepositRecord& record : records) Take(record);
}

void Deposits::Acquire(Seat seat, const DepositClaim& claim, Tell tell) {
  if (DepositContents found = Look(claim.key)) {
    parts_.statistics.Add(Counter::kDepositHits);
    tell(DepositFound{std::move(found)});
    return;
  }
  std::optional<LeaseTable::Time> until;
  if (claim.wait.count() > 0) until = options_.now() + claim.wait;
  table_.Enter(seat, claim.key, until,
               [this, seat, key = claim.key, tell = std::move(tell)](LeaseNews news) {
                 if (const auto* grant = std::get_if<LeaseGrant>(&news)) {
                   // Published after the first look, before this lease.
                   const DepositFound found{Look(key)};
                   if (found.contents && table_.StartPublishing(seat, grant->fence)) {
                     table_.Publish(seat, found);
                     news = found;
                   } else {
                     parts_.statistics.Add(Counter::kLeases);
                   }
                 }
                 if (std::holds_alternative<DepositFound>(news)) {
                   parts_.statistics.Add(Counter::kDepositWaits);
                 } else if (std::holds_alternative<LeaseLost>(news)) {
                   parts_.statistics.Add(Counter::kLeasesLost);
                 }
                 tell(std::move(news));
               });
}

DepositContents Deposits::Look(const Digest& key) {
  const std::optional<uint64_t> addition = index_.Find(key);
  if (!addition) return nullptr;
  DepositContents contents = parts_.store.Get(key);
  const std::lock_guard lock(changing_);
  if (contents == nullptr) {
    if (index_.Remove(key, *addition)) parts_.store.Remove(key);
  } else if (const auto record = index_.Use(key, WallTime())) {
    parts_.store.PutRecord(*record);
  }
  return contents;
}

Deposits::Publication Deposits::Publish(Seat seat, uint64_t fence, const DepositClaim& claim,
                                        const DepositFound& made) {
  if (const Status fits = CheckFits(made.contents->size()); !fits) return fits.error();
  if (!table_.StartPublishing(seat, fence)) {
    return LeaseLost{
        "the lease was lost: it is another caller's by now, and what was made under it is refused; "
        "acquire it again"};
  }
  const auto now = WallTime();
  const DepositRecord record{.key = claim.key,
                             .uid = claim.uid,
                             .scope = claim.scope,
                             .name_space = claim.name_space,
                             .fields = claim.fields,
                             .size = made.contents->size(),
                             .made = now,
                             .used = now};
  {
    const std::lock_guard lock(changing_);
    if (parts_.store.Put(record, made.contents)) Take(record);
  }
  parts_.statistics.Add(Counter::kDeposits);
  table_.Publish(seat, made);
  return Ok{};
}

Result<Inserted> Deposits::Insert(uid_t uid, const std::string& name_space, const Digest& fields,
                                  DepositContents contents) {
  if (const Status fits = CheckFits(contents->size()); !fits) return fits.error();
  const auto now = WallTime();
  DepositRecord record{.key = {},
                       .uid = uid,
                       .scope = {cccl_cache::DepositScope::Kind::kUser, uid},
                       .name_space = name_space,
                       .fields = fields,
                       .size = contents->size(),
                       .made = now,
                       .used = now};
  record.key = cccl_cache::DepositKey(record.scope, IdentityOf(record));
  const std::lock_guard lock(changing_);
  if (index_.Find(record.key)) return Inserted::kBefore;
  if (!parts_.store.Put(record, std::move(contents))) {
    return Error{ErrorCode::kUnavailable,
                 "the disk takes no more now: insert the file again once it has room"};
  }
  Take(record);
  return Inserted::kNow;
}

Status Deposits::CheckFits(uint64_t size) const {
  if (index_.Fits(size)) return Ok{};
  return Error{ErrorCode::kOverloaded,
               fmt::format("a deposit of {} bytes: a user may have {} bytes of them together "
                           "(deposit_limit_per_uid)",
                           size, options_.limits.bytes_per_uid)};
}

void Deposits::Take(const DepositRecord& record) {
  const std::vector<Digest> gone = index_.Add(record);
  for (const Digest& key : gone) parts_.store.Remove(key);
  parts_.statistics.Add(Counter::kDepositEvictions, gone.size());
}

bool Deposits::Remove(const Digest& key, uid_t uid) {
  const std::lock_guard lock(changing_);
  if (!index_.RemoveOwn(key, uid)) return false;
  parts_.store.Remove(key);
  return true;
}

void Deposits::Stop() {
  table_.Stop(Error{ErrorCode::kUnavailable, "cccl-cached is stopping, and with it every lease"});
}

}  // namespace cccl_cached
