// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/remote_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "daemon/system/random.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using Question = Cluster::Question;

constexpr milliseconds kFirstPause{5};
constexpr milliseconds kLastPause{100};
// The wait for another node's compile is limited to twice the usual time of such compiles, but at
// least kShortestWait and at most kLongestWait. The limit is kUnknownWait if the usual time is
// unknown.
constexpr int kUsualTimes = 2;
constexpr milliseconds kShortestWait{1'000};
constexpr milliseconds kUnknownWait{10'000};
constexpr milliseconds kLongestWait{60'000};
// A node waits for the compiles of at most two nodes, one after the other. The second wait is
// useful if the first node has died. A third would not help, because a compile that fails leaves no
// result on any node.
constexpr int kMaxHolders = 2;
// Leases are not signed, so a hostile server could make builds wait for nothing. After this many
// waits in a row without a result, leases are ignored for kIgnoreLeases.
constexpr int kMaxInVain = 3;
constexpr std::chrono::seconds kIgnoreLeases{60};

}  // namespace

RemoteQuestions::RemoteQuestions(const Options& options, RemoteEntries& entries, RedisServers& link,
                                 RemoteOutbox& outbox, Statistics& statistics)
    : options_(options),
      entries_(entries),
      link_(link),
      outbox_(outbox),
      statistics_(statistics),
      fetches_(link, kDepositPatience * options.patience, statistics) {}

RemoteQuestions::Open* RemoteQuestions::FindOpen(uint64_t id) {
  const auto found = open_.find(id);
  return found == open_.end() ? nullptr : &found->second;
}

void RemoteQuestions::Begin(Question question, std::stop_token ended, Cluster::Asker asker) {
  const uint64_t id = ++last_id_;
  Open& open = open_[id];
  open.question = std::move(question);
  open.asker = std::move(asker);
  if (IsDeposit(open.question) && options_.has_chunks) {
    open.question.entries.push_back({EntryKind::kChunkList, open.question.entries.front().key, {}});
  }
  // The callback is called on the thread that requests the stop, or at once if a stop was
  // requested.
  open.at_end = std::make_unique<std::stop_callback<std::function<void()>>>(
      std::move(ended), [this, id] { link_.At(Clock::now(), [this, id] { End(id); }); });
  open.deadline = Clock::now() + PatienceFor(open.question);
  statistics_.Add(Counter::kRemoteLookups);
  Find(id, false);
}

milliseconds RemoteQuestions::PatienceOfWait(const Question& question) const {
  if (!IsDeposit(question)) return options_.patience;
  return std::max(PatienceFor(question), options_.lease);
}

milliseconds RemoteQuestions::PatienceFor(const Question& question) const {
  if (IsDeposit(question)) return kDepositPatience * options_.patience;
  if (question.usual_time.count() == 0) return options_.patience;
  const auto tenth = duration_cast<milliseconds>(question.usual_time / 10);
  return std::max(milliseconds(1), std::min(tenth, options_.patience));
}

// Asks for the entries. With `acquire`, asks for the lease first: if another node has just released
// it, the entries of that node are then found.
void RemoteQuestions::Find(uint64_t id, bool acquire) {
  Open* const open = FindOpen(id);
  if (open == nullptr) return;
  const auto look = std::make_shared<Look>();
  look->found.resize(open->question.entries.size());
  look->acquires = acquire;
  // Several servers execute commands in no common order. So the entries are requested only after
  // the reply about the lease.
  const bool entries_later = acquire && !link_.keeps_order();
  bool sent = true;
  if (acquire) {
    const std::string token = NewLeaseToken();
    const LeaseName lease = LeaseOn(open->question);
    ++look->missing;
    sent = link_.Send(
        lease.place,
        {"SET", lease.name, LeaseValue(open->question, {token, 0}, open->files_of, *options_.key),
         "NX", "PX", fmt::to_string(options_.lease.count())},
        [this, id, look, token, lease, entries_later](const RedisReply* reply) {
          TakeLease(id, lease, token, look.get(), reply);
          if (entries_later && !look->lost) AskForEntries(id, look);
          CountReply(id, look);
        });
  }
  if (!sent) return Compile(id);
  if (!entries_later) AskForEntries(id, look);
  link_.At(open->deadline, [this, id, look] {
    if (look->missing > 0) BeLate(id, look.get());
  });
  link_.At(Clock::now() + options_.patience, [this, look] {
    if (look->missing > 0) link_.NoteSlow();
  });
}

void RemoteQuestions::AskForEntries(uint64_t id, const std::shared_ptr<Look>& look) {
  const Open* const open = FindOpen(id);
  if (open == nullptr) return;
  look->asked = Clock::now();
  look->missing += look->found.size();
  for (size_t place = 0; place < look->found.size(); ++place) {
    const auto take = [this, id, look, place](const RedisReply* reply) {
      TakeReply(id, look, place, reply);
    };
    if (!entries_.Fetch(open->question.entries[place], take)) take(nullptr);
  }
}

void RemoteQuestions::TakeLease(uint64_t id, const LeaseName& lease, const std::string& token,
                                Look* look, const RedisReply* reply) {
  using Kind = RedisReply::Kind;
  // Only a nil reply means that another node has the lease. After an error, for example because
  // Redis refuses writes, this node does not wait for others.
  if (reply == nullptr || reply->kind == Kind::kError) look->lost = true;
  if (reply == nullptr || reply->kind != Kind::kText) return;
  Open* const open = FindOpen(id);
  if (open == nullptr) return outbox_.Release(lease.place, lease.name, token);
  open->held = {token, 0};
  ++HeldFor(open->question);
  if (open->compiles) statistics_.Add(Counter::kRemoteLeases);  // the compile has already begun
  look->acquired = true;
  RenewLater(id);
  if (open->files_of) Renew(open);
}

void RemoteQuestions::TakeReply(uint64_t id, const std::shared_ptr<Look>& look, size_t place,
                                const RedisReply* reply) {
  Open* const open = FindOpen(id);
  if (reply == nullptr || reply->kind == RedisReply::Kind::kError) {
    bool& gone = place == 0 ? look->lost : look->partial;
    gone = true;
  }
  if (open != nullptr && reply != nullptr && reply->kind == RedisReply::Kind::kText) {
    const EntryName& name = open->question.entries[place];
    auto opened = entries_.Open(name, reply->text);
    auto* const entry = std::get_if<SharedEntry>(&opened);
    if (entry == nullptr) {
      statistics_.Add(CounterOf(std::get<EntryRefusal>(opened)));
    } else if (name.kind != EntryKind::kChunkList) {
      look->found[place] = std::move(*entry);
    } else if (*entry) {
      look->chunks = DecodeChunkList(*entry->deposit, options_.deposit_limit);
      look->took = entry->took;
    }
  }
  CountReply(id, look);
}

void RemoteQuestions::CountReply(uint64_t id, const std::shared_ptr<Look>& look) {
  if (--look->missing > 0) return;
  if (!look->lost && !look->partial) {
    const auto took = duration_cast<std::chrono::microseconds>(Clock::now() - look->asked);
    statistics_.Add(Counter::kRemoteAnswers);
    statistics_.Add(Counter::kRemoteAnswerMicroseconds, static_cast<uint64_t>(took.count()));
  }
  EndLook(id, look);
}

bool RemoteQuestions::Serves(Open* open, const Look& look) {
  const bool any = std::ranges::any_of(look.found, [](const auto& each) { return bool(each); });
  // The callback `found` may end the question. `open` stays valid, because the link runs End()
  // later.
  const bool waited = open->waits && !open->compiles;
  if (!any || !open->asker.found({TierName::kRemote, look.found})) return false;
  if (waited) in_vain_in_a_row_ = 0;
  return true;
}

void RemoteQuestions::EndLook(uint64_t id, const std::shared_ptr<Look>& shared_look) {
  const Look& look = *shared_look;
  Open* const open = FindOpen(id);
  if (open == nullptr || Serves(open, look) || open->compiles) return;
  if (look.chunks) return FetchChunks(id, shared_look);
  const bool leases = open->question.compile && Clock::now() >= ignore_leases_until_;
  if (look.lost || look.acquired || !leases) return Compile(id);
  if (open->pause.count() == 0) {
    open->pause = kFirstPause;
    return MayAcquire(open->question) ? Find(id, true) : LookAtLease(id);
  }
  // Another node has released the lease without a result, and this node has no right to take it. A
  // caller that only waits does so for the next holder, too.
  if (!look.acquires && open->question.takes_lease) return Compile(id);
  // If the server of the manifest is unreachable, a second wait would be of no use: the artifact
  // may not be found without its manifest.
  if (++open->holders > (look.partial ? 1 : kMaxHolders)) return Compile(id);
  AwaitOther(id);
}

// Continues the question with the whole deposit, or without one.
void RemoteQuestions::FetchChunks(uint64_t id, const std::shared_ptr<Look>& look) {
  const EntryName& list = FindOpen(id)->question.entries.back();
  fetches_.Add({.list = *std::exchange(look->chunks, std::nullopt),
                .place = entries_.PlaceOf(list),
                .name = entries_.NameOf(list),
                .deadline = Clock::now() + options_.longest_fetch,
                .wanted = [this, id] { return FindOpen(id) != nullptr; },
                .done =
                    [this, id, look](std::optional<std::string> contents) {
                      if (contents) {
                        look->found.front() = {
                            .deposit = std::make_shared<const std::string>(std::move(*contents)),
                            .took = look->took};
                      }
                      EndLook(id, look);
                    }});
}

// A node at its limit of leases takes no more, but still waits for other nodes' compiles.
bool RemoteQuestions::MayAcquire(const Question& question) {
  return question.takes_lease && options_.key != nullptr &&
         HeldFor(question) <
             (IsDeposit(question) ? options_.max_deposit_leases : options_.max_leases);
}

std::atomic<size_t>& RemoteQuestions::HeldFor(const Question& question) {
  return IsDeposit(question) ? deposit_leases_ : leases_;
}

void RemoteQuestions::AwaitOther(uint64_t id) {
  Open* const open = FindOpen(id);
  if (open == nullptr) return;
  if (!std::exchange(open->waits, true)) statistics_.Add(Counter::kRemoteWaits);
  const auto usual = duration_cast<milliseconds>(open->question.usual_time) * kUsualTimes;
  const milliseconds longest = IsDeposit(open->question) ? open->question.longest_wait
                               : usual.count() == 0
                                   ? kUnknownWait
                                   : std::clamp(usual, kShortestWait, kLongestWait);
  const Clock::time_point last = open->question.since + longest;
  if (Clock::now() >= last) {
    // A caller that only waits may do so for a moment. Then the wait says nothing about the lease.
    if (!open->question.takes_lease) return Compile(id);
    statistics_.Add(Counter::kRemoteWaitsInVain);
    if (++in_vain_in_a_row_ >= kMaxInVain) ignore_leases_until_ = Clock::now() + kIgnoreLeases;
    return Compile(id);
  }
  const Clock::time_point next = std::min(Clock::now() + Jittered(open->pause), last);
  open->deadline = next + PatienceOfWait(open->question);
  open->pause = std::min(open->pause * 3 / 2, kLastPause);
  link_.At(next, [this, id] { LookAtLease(id); });
}

void RemoteQuestions::LookAtLease(uint64_t id) {
  Open* const open = FindOpen(id);
  if (open == nullptr || open->compiles) return;
  const auto answered = std::make_shared<bool>(false);
  const auto take = [this, id, answered](const RedisReply* reply) {
    *answered = true;
    Open* const waits = FindOpen(id);
    if (waits == nullptr || waits->compiles) return;
    using Kind = RedisReply::Kind;
    if (reply == nullptr || reply->kind == Kind::kError) return Compile(id);
    std::optional<LeaseWatch::Lease> lease;
    if (reply->kind == Kind::kText) {
      lease = waits->other.Read(waits->question, reply->text, *entries_.trusted(), options_.lease);
    }
    // If there is no lease, its holder has finished or died, or there was no holder.
    if (!lease && !waits->waits) return Compile(id);
    if (!lease) {
      waits->deadline = Clock::now() + PatienceOfWait(waits->question);
      return Find(id, MayAcquire(waits->question));
    }
    if (lease->files_of) TellWhoseFiles(id, *lease->files_of);
    AwaitOther(id);
  };
  const auto [place, lease] = LeaseOn(open->question);
  const std::string end = fmt::to_string(kMaxLeaseBytes - 1);
  if (!link_.Send(place, {"GETRANGE", lease, "0", end}, take)) return Compile(id);
  link_.At(open->deadline, [this, id, answered] {
    if (!*answered) BeLate(id);
  });
}

void RemoteQuestions::TellWhoseFiles(uint64_t id, uid_t uid) {
  Open* const open = FindOpen(id);
  if (std::exchange(open->files_of, uid)) return;
  open->asker.looks_outside(uid);
}

void RemoteQuestions::LooksOutside(const Digest& compile, uid_t uid) {
  for (auto& [id, open] : open_) {
    if (open.question.compile != compile || !open.compiles) continue;
    open.files_of = uid;
    if (!open.held.token.empty()) Renew(&open);
  }
}

// If the renewal fails, the lease expires and another node may compile too.
void RemoteQuestions::Renew(Open* open) {
  ++open->held.renewals;
  const auto [place, lease] = LeaseOn(open->question);
  link_.Send(place,
             {"EVAL", kRenewLease, "1", lease, open->held.token,
              LeaseValue(open->question, open->held, open->files_of, *options_.key),
              fmt::to_string(options_.lease.count())},
             [](const RedisReply*) {});
}

// Compiles, because an answer is late. If the artifact came in time, it is used instead, even if
// another answer is late.
void RemoteQuestions::BeLate(uint64_t id, const Look* look) {
  Open* const open = FindOpen(id);
  if (open == nullptr || open->compiles || (look != nullptr && Serves(open, *look))) return;
  statistics_.Add(Counter::kRemoteLate);
  Compile(id);
}

void RemoteQuestions::Compile(uint64_t id) {
  Open* const open = FindOpen(id);
  if (open == nullptr || std::exchange(open->compiles, true)) return;
  if (!open->held.token.empty()) statistics_.Add(Counter::kRemoteLeases);
  open->asker.compile();
}

void RemoteQuestions::RenewLater(uint64_t id) {
  link_.At(Clock::now() + options_.lease / 3, [this, id] {
    Open* const open = FindOpen(id);
    if (open == nullptr) return;
    Renew(open);
    RenewLater(id);
  });
}

// The lease is released after the compile's result was written, so that waiting nodes find it.
void RemoteQuestions::End(uint64_t id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  const Open open = std::move(found->second);
  open_.erase(found);
  if (open.held.token.empty()) return;
  --HeldFor(open.question);
  auto [place, lease] = LeaseOn(open.question);
  outbox_.Release(std::move(place), std::move(lease), open.held.token);
}

void RemoteQuestions::EndAll() {
  while (!open_.empty()) End(open_.begin()->first);
}

std::string RemoteQuestions::TokenFor(const Digest& compile) const {
  for (const auto& [id, open] : open_) {
    if (open.question.compile == compile && !open.held.token.empty()) return open.held.token;
  }
  return "";
}

LeaseName RemoteQuestions::LeaseOn(const Question& question) const {
  return entries_.LeaseOn(*question.compile, question.entries.front());
}

}  // namespace cccl_cache::daemon
