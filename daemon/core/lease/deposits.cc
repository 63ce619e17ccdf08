// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lease/deposits.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <stop_token>
#include <utility>

#include "daemon/core/model/artifact.h"

namespace cccl_cache::daemon {
namespace {

/// Number of bits that count the leases of one run of the daemon. 2^40 leases are enough for months
/// at 100,000 leases a second.
constexpr int kFenceBits = 40;
/// A holder that sends nothing during this many heartbeat intervals loses its lease.
constexpr int kHeartbeats = 3;

uint64_t FirstFence(uint64_t run) { return (run << kFenceBits) + 1; }

std::chrono::sys_seconds WallTime() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

BlockingPool::Bounds DiskReads(std::chrono::milliseconds patience) {
  BlockingPool::Bounds bounds = kDiskReads;
  bounds.look_time = patience;
  return bounds;
}

Account AccountOf(const DepositClaim& claim) {
  return claim.counted_as.value_or(Account(claim.uid));
}

DepositFound FoundIn(const std::vector<SharedEntry>& entries) {
  return {entries.front().deposit, entries.front().took};
}

Digest IdentityOf(const DepositClaim& claim) {
  return DepositIdentity(claim.name_space, claim.fields);
}

}  // namespace

Deposits::Deposits(Options options, Parts parts)
    : options_(std::move(options)),
      parts_(parts),
      index_(options_.limits, parts_.find_account),
      // Fences begin with 1, because fence 0 stands for a caller that waits.
      table_({.first_fence = FirstFence(options_.run ? *options_.run : 0),
              .patience = kHeartbeats * options_.limits.heartbeat,
              .longest = options_.limits.longest_lease,
              .now = options_.now,
              .sooner = [this] { clock_.Wake(); }}),
      reads_(DiskReads(options_.disk_patience)),
      clock_(table_) {
  if (!options_.run) grants_none_ = options_.run.error();
  Load();
}

void Deposits::Load() {
  const MutexLock lock(changing_);
  std::vector<DepositRecord> records = parts_.store.Records();
  std::ranges::sort(records, {}, &DepositRecord::used);
  for (const DepositRecord& record : records) Take(record);
}

Status Deposits::Counted(const Result<uint64_t>& run) {
  {
    const MutexLock lock(mutex_);
    if (!grants_none_) return Ok{};
    if (!run) return *grants_none_ = run.error();
  }
  Load();
  table_.StartAt(FirstFence(*run));
  const MutexLock lock(mutex_);
  grants_none_.reset();
  return Ok{};
}

Deposits::~Deposits() {
  reads_.Close();
  if (parts_.cluster != nullptr) parts_.cluster->Close();
}

void Deposits::Acquire(WaiterId waiter, const DepositClaim& claim, Tell tell) {
  LeaseTable::Wait wait{.accepts_release = claim.accepts_release,
                        .waits_only = claim.waits_only,
                        .uid = claim.uid,
                        .name_space = claim.name_space};
  if (claim.wait.count() > 0) wait.until = options_.now() + claim.wait;
  const auto call =
      std::make_shared<const Call>(Call{waiter, claim, AccountOf(claim), wait, std::move(tell)});
  if (!index_.Find(claim.key) || Replaces(claim)) return Enter(call);
  if (DepositContents found = parts_.store.FindInMemory(claim.key)) {
    NoteUse(claim.key);
    return TellHit(*call, std::move(found));
  }
  AskDisk(call, [this, call](DepositContents found) { DiskRead(call, std::move(found)); });
}

void Deposits::AskDisk(const CallPtr& call, std::function<void(DepositContents)> then) {
  AwaitRead(call->waiter);
  const auto fail = [this, call](const Error& error) {
    if (StopReading(call->waiter)) call->tell(error);
  };
  const auto found = std::make_shared<DepositContents>();
  const Status added = reads_.Add(
      call->account, {.look = [this, found, key = call->claim.key] { *found = Look(key); },
                      .then = [found, then = std::move(then)] { then(std::move(*found)); },
                      .late = [this, fail] { fail(DiskHangs(options_.disk_patience)); }});
  if (!added) fail(added.error());
}

void Deposits::DiskRead(const CallPtr& call, DepositContents found) {
  if (found != nullptr) {
    if (StopReading(call->waiter)) TellHit(*call, std::move(found));
    return;
  }
  Enter(call);
  // If the caller left during the disk read, Leave did not find it in the table. So it is removed
  // now.
  if (!StopReading(call->waiter)) table_.Leave(call->waiter);
}

void Deposits::AwaitRead(WaiterId waiter) {
  const MutexLock lock(mutex_);
  reading_.insert(waiter);
}

bool Deposits::StopReading(WaiterId waiter) {
  const MutexLock lock(mutex_);
  const auto read = reading_.find(waiter);
  if (read == reading_.end()) return false;
  reading_.erase(read);
  return true;
}

void Deposits::Leave(WaiterId waiter) {
  {
    const MutexLock lock(mutex_);
    reading_.erase(waiter);
  }
  EndQuestion(waiter);
  table_.Leave(waiter);
}

void Deposits::Fail(WaiterId waiter) {
  parts_.statistics.Add(Counter::kLeasesFailed);
  EndQuestion(waiter);
  table_.Fail(waiter);
}

void Deposits::Enter(const CallPtr& call) {
  std::optional<Error> grants_none;
  {
    const MutexLock lock(mutex_);
    grants_none = grants_none_;
  }
  if (grants_none) {
    return TellNews(*call, Error{ErrorCode::kUnavailable,
                                 fmt::format("no leases are granted: {}", grants_none->message)});
  }
  table_.Enter(call->waiter, call->claim.key, call->wait, [this, call](LeaseNews news) {
    if (const auto* grant = std::get_if<LeaseGrant>(&news)) return Granted(call, *grant);
    EndQuestion(call->waiter);  // if the caller held the lease, it has lost it
    const bool released = std::holds_alternative<LeaseReleased>(news);
    if (released && call->claim.waits_only) return Unmade(call);
    TellNews(*call, std::move(news));
  });
}

void Deposits::Unmade(const CallPtr& call) {
  if (!index_.Find(call->claim.key)) return WatchCluster(call);
  AskDisk(call, [this, call](DepositContents found) {
    if (!StopReading(call->waiter)) return;
    if (found == nullptr) return TellNews(*call, LeaseReleased{});
    TellHit(*call, std::move(found));
  });
}

void Deposits::WatchCluster(const CallPtr& call) {
  const auto name = SharedNameOf(call->claim.scope, IdentityOf(call->claim));
  if (!name) return TellNews(*call, LeaseReleased{});
  AwaitRead(call->waiter);
  // Only the first answer counts, and none after the caller has left.
  const auto is_first = [this, waiter = call->waiter] {
    EndQuestion(waiter);
    return StopReading(waiter);
  };
  const auto unmade = [this, call, is_first] {
    if (!is_first()) return;
    if (index_.Find(call->claim.key)) return Unmade(call);
    if (!call->wait.until || options_.now() < *call->wait.until) {
      return TellNews(*call, LeaseReleased{});
    }
    TellNews(*call, Error{ErrorCode::kTimedOut,
                          "another node makes the deposit, and the caller waited as long as it "
                          "said it would"});
  };
  using std::chrono::milliseconds;
  const auto now = options_.now();
  milliseconds longest = options_.limits.longest_lease;
  if (const auto until = call->wait.until) {
    longest = std::min(longest, std::chrono::ceil<milliseconds>(*until - now));
  }
  const bool asked =
      parts_.cluster->Ask({.entries = {*name},
                           .account = call->account,
                           .compile = name->key,
                           .takes_lease = false,
                           .since = now,
                           .longest_wait = longest},
                          BeginQuestion(call->waiter, call),
                          {.found =
                               [this, call, is_first](const Cluster::Found& entries) {
                                 if (!is_first()) return true;
                                 // A caller of this node may have made it meanwhile.
                                 if (index_.Find(call->claim.key)) {
                                   Unmade(call);
                                   return true;
                                 }
                                 const DepositFound found = FoundIn(entries.entries);
                                 KeepFetched(*call, found);
                                 call->tell(found);
                                 return true;
                               },
                           .compile = unmade,
                           .looks_outside = {}});
  if (!asked) unmade();
}

void Deposits::Granted(const CallPtr& call, const LeaseGrant& grant) {
  if (Replaces(call->claim)) return TellNews(*call, grant);
  if (!index_.Find(call->claim.key)) return AskCluster(call, grant);
  // Another caller published the deposit after this caller's first look-up. The disk is read before
  // the caller learns of its lease. Until then it can't renew the lease, so the timeout is
  // suspended.
  table_.SuspendTimeout(call->waiter);
  const auto go_without = [this, call, grant] { GoWithout(*call, grant); };
  const auto found = std::make_shared<DepositFound>();
  const auto hand_over = [this, call, grant, go_without, found] {
    if (found->contents == nullptr) return go_without();
    found->took = index_.TimeOf(call->claim.key);
    if (!table_.StartPublishing(call->waiter, grant.fence)) return;
    table_.Publish(call->waiter, *found);
    TellNews(*call, *found);
  };
  const Status added = reads_.Add(
      call->account, {.look = [this, found, key = call->claim.key] { found->contents = Look(key); },
                      .then = hand_over,
                      .late = go_without});
  if (!added) go_without();
}

void Deposits::GoWithout(const Call& call, const LeaseGrant& grant) {
  if (table_.Beat(call.waiter)) return TellNews(call, grant);
  EndQuestion(call.waiter);  // the caller may have left before the question began
}

void Deposits::AskCluster(const CallPtr& call, const LeaseGrant& grant) {
  const auto name = SharedNameOf(call->claim.scope, IdentityOf(call->claim));
  if (!name) return TellNews(*call, grant);
  // Until there is an answer, the caller waits: for the deposit, or for another node that makes it.
  table_.Postpone(call->waiter);
  // Only the first answer counts: after it, the caller has its lease or its deposit. The question
  // ends with the deposit or with the caller's lease, because the lease of this node ends with it.
  const auto is_first = [answered = std::make_shared<std::atomic<bool>>(false)] {
    return !answered->exchange(true);
  };
  const bool asked =
      parts_.cluster->Ask({.entries = {*name},
                           .account = call->account,
                           .compile = name->key,
                           .since = options_.now(),
                           .longest_wait = options_.limits.longest_lease},
                          BeginQuestion(call->waiter, nullptr),
                          {.found =
                               [this, call, grant, is_first](const Cluster::Found& found) {
                                 if (is_first()) {
                                   EndQuestion(call->waiter);
                                   TakeFromCluster(*call, grant, FoundIn(found.entries));
                                 }
                                 return true;
                               },
                           .compile =
                               [this, call, grant, is_first] {
                                 if (is_first()) GoWithout(*call, grant);
                               },
                           .looks_outside = {}});
  if (asked) return;
  EndQuestion(call->waiter);
  GoWithout(*call, grant);
}

std::stop_token Deposits::BeginQuestion(WaiterId waiter, CallPtr watcher) {
  const MutexLock lock(mutex_);
  Asking& asking = asking_[waiter] = {.ended = {}, .watcher = std::move(watcher)};
  return asking.ended.get_token();
}

void Deposits::EndQuestion(WaiterId waiter) {
  std::stop_source ended(std::nostopstate);
  {
    const MutexLock lock(mutex_);
    const auto found = asking_.find(waiter);
    if (found == asking_.end()) return;
    ended = std::move(found->second.ended);
    asking_.erase(found);
  }
  ended.request_stop();
}

void Deposits::TakeFromCluster(const Call& call, const LeaseGrant& grant,
                               const DepositFound& found) {
  if (!table_.StartPublishing(call.waiter, grant.fence)) return;
  KeepFetched(call, found);
  table_.Publish(call.waiter, found);
  call.tell(found);
}

void Deposits::KeepFetched(const Call& call, const DepositFound& deposit) {
  Keep(call.claim, deposit, /*is_fetched=*/true);
  Count(call.claim, DepositUse::kFound, deposit);
  parts_.statistics.Add(Counter::kRemoteDeposits);
}

void Deposits::TellHit(const Call& call, DepositContents contents) {
  const DepositFound found{std::move(contents), index_.TimeOf(call.claim.key)};
  Count(call.claim, DepositUse::kFound, found);
  call.tell(found);
}

std::optional<EntryName> Deposits::SharedNameOf(const DepositScope& scope,
                                                const Digest& identity) const {
  if (parts_.cluster == nullptr || scope.kind != DepositScope::Kind::kGroup) return std::nullopt;
  const auto group = options_.shared_groups.find(scope.id);
  if (group == options_.shared_groups.end()) return std::nullopt;
  return EntryName{EntryKind::kDeposit, SharedDepositKey(group->second, identity), {}};
}

void Deposits::Count(const DepositClaim& claim, DepositUse use, const DepositFound& deposit) {
  const bool made = use == DepositUse::kMade;
  const DepositEvent event{.account = AccountOf(claim),
                           .name_space = claim.name_space,
                           .use = use,
                           .bytes = deposit.contents->size(),
                           .saved = made ? std::chrono::microseconds{0} : deposit.took};
  parts_.statistics.Add(made                         ? Counter::kDeposits
                        : use == DepositUse::kJoined ? Counter::kDepositWaits
                                                     : Counter::kDepositHits);
  if (!made) parts_.statistics.Add(Counter::kDepositReadBytes, event.bytes);
  parts_.statistics.Add(Counter::kDepositSavedMicroseconds, event.saved.count());
  if (parts_.note) parts_.note(event);
}

void Deposits::TellNews(const Call& call, LeaseNews news) {
  if (std::holds_alternative<LeaseGrant>(news)) {
    parts_.statistics.Add(Counter::kLeases);
  } else if (const auto* found = std::get_if<DepositFound>(&news)) {
    Count(call.claim, DepositUse::kJoined, *found);
  } else if (std::holds_alternative<LeaseLost>(news)) {
    parts_.statistics.Add(Counter::kLeasesLost);
  }
  call.tell(std::move(news));
}

DepositContents Deposits::Look(const Digest& key) {
  const std::optional<uint64_t> addition = index_.Find(key);
  if (!addition) return nullptr;
  Result<DepositContents> contents = parts_.store.Get(key);
  if (!contents) return nullptr;
  if (*contents == nullptr) {
    DropLost(key, *addition);
  } else {
    NoteUse(key);
  }
  return *std::move(contents);
}

bool Deposits::DropLost(const Digest& key, uint64_t addition) {
  const MutexLock lock(changing_);
  if (!index_.Remove(key, addition)) return false;
  parts_.store.Remove(key);
  return true;
}

Result<bool> Deposits::Verify(const Digest& key) {
  const std::optional<uint64_t> addition = index_.Find(key);
  if (!addition) return true;
  const Result<DepositContents> contents = parts_.store.Get(key);
  if (!contents) return contents.error();
  return *contents != nullptr || !DropLost(key, *addition);
}

DepositContents Deposits::Read(const Digest& key) {
  Result<DepositContents> contents = parts_.store.Get(key);
  return contents ? *std::move(contents) : nullptr;
}

void Deposits::NoteUse(const Digest& key) {
  const MutexLock lock(changing_);
  if (const auto record = index_.Use(key, WallTime())) parts_.store.PutRecord(*record);
}

Deposits::Publication Deposits::Publish(WaiterId waiter, uint64_t fence, const DepositClaim& claim,
                                        const DepositContents& contents) {
  if (const Status fits = CheckFits(contents->size()); !fits) return fits.error();
  const auto took = table_.StartPublishing(waiter, fence);
  if (!took) {
    return LeaseLost{
        "the lease was lost: it is another caller's by now, and what was made under it is refused; "
        "acquire it again"};
  }
  const DepositFound made{contents, *took};
  const auto name = SharedNameOf(claim.scope, IdentityOf(claim));
  // Other nodes were not asked for a lease, so the old deposit would refuse the new one.
  if (name && Replaces(claim)) parts_.cluster->Forget(*name);
  Keep(claim, made, /*is_fetched=*/false);
  if (name && contents->size() <= options_.shared_bytes) {
    parts_.cluster->Share(*name, {.deposit = contents, .took = made.took}, AccountOf(claim));
  }
  EndQuestion(waiter);
  Count(claim, DepositUse::kMade, made);
  table_.Publish(waiter, made);
  return Ok{};
}

void Deposits::Keep(const DepositClaim& claim, const DepositFound& deposit, bool is_fetched) {
  const auto now = WallTime();
  const DepositRecord record{.key = claim.key,
                             .uid = claim.uid,
                             .scope = claim.scope,
                             .is_fetched = is_fetched,
                             .name_space = claim.name_space,
                             .fields = claim.fields,
                             .size = deposit.contents->size(),
                             .made = now,
                             .took = deposit.took,
                             .used = now};
  const MutexLock lock(changing_);
  if (parts_.store.Put(record, deposit.contents)) Take(record);
}

Result<Inserted> Deposits::Insert(uid_t uid, const std::string& name_space, const Digest& fields,
                                  DepositContents contents) {
  if (const Status fits = CheckFits(contents->size()); !fits) return fits.error();
  const auto now = WallTime();
  DepositRecord record{.key = {},
                       .uid = uid,
                       .scope = {DepositScope::Kind::kUser, uid},
                       .name_space = name_space,
                       .fields = fields,
                       .size = contents->size(),
                       .made = now,
                       .used = now};
  record.key = DepositKey(record.scope, IdentityOf(record));
  const MutexLock lock(changing_);
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
  std::optional<DepositRecord> removed;
  {
    const MutexLock lock(changing_);
    removed = index_.RemoveOwn(key, uid);
    if (!removed) return false;
    parts_.store.Remove(key);
  }
  // If other nodes kept the deposit, the next caller would get it from them.
  const auto name = SharedNameOf(removed->scope, IdentityOf(*removed));
  if (name) parts_.cluster->Forget(*name);
  return true;
}

void Deposits::Stop() {
  const Error why{ErrorCode::kUnavailable, "cccl-cached is stopping, and with it every lease"};
  table_.Stop(why);
  std::vector<CallPtr> watching;
  {
    const MutexLock lock(mutex_);
    for (const auto& [waiter, asking] : asking_) {
      if (asking.watcher != nullptr) watching.push_back(asking.watcher);
    }
  }
  for (const CallPtr& call : watching) {
    EndQuestion(call->waiter);
    if (StopReading(call->waiter)) TellNews(*call, why);
  }
}

}  // namespace cccl_cache::daemon
