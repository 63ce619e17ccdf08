// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/remote_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <future>
#include <string_view>
#include <utility>
#include <variant>

#include "base/text.h"
#include "daemon/system/random.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

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

// A deposit takes longer to make than an answer may take. So a question about one waits this many
// times as long, and its looks at another node's lease until such a lease would end.
constexpr int kDepositPatience = 10;
// The signed lease on a deposit must change within this many times its duration.
constexpr int kFrozenAfter = 2;

// A lease's value ends with the token of its holder.
constexpr std::string_view kRenew =
    "if string.sub(redis.call('get',KEYS[1]) or '',-32)==ARGV[1] then "
    "redis.call('set',KEYS[1],ARGV[2],'px',ARGV[3]) end return 0";

bool IsDeposit(const Cluster::Question& question) {
  return question.entries.front().kind == EntryKind::kDeposit;
}

/// Parses the answer to TIME: seconds since 1970, and microseconds. Returns none for other replies.
std::optional<std::chrono::system_clock::time_point> ParseTime(const RedisReply& reply) {
  constexpr int64_t kLatest = int64_t{1} << 33;  // a hostile server may answer with any number
  if (reply.kind != RedisReply::Kind::kArray || reply.items.size() != 2) return std::nullopt;
  const std::string& text = reply.items.front().text;
  int64_t seconds = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, seconds);
  if (read.ec != std::errc() || read.ptr != end || seconds < 0 || seconds > kLatest)
    return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(seconds));
}

char LetterOf(EntryKind kind) {
  switch (kind) {
    case EntryKind::kArtifact:
      return 'a';
    case EntryKind::kManifest:
      return 'm';
    case EntryKind::kDeposit:
      return 'd';
    case EntryKind::kLease:
      return 'l';
    case EntryKind::kChunkList:
      break;
  }
  return 'c';
}

std::chrono::sys_seconds Now() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

}  // namespace

RemoteCluster::RemoteCluster(Options options, std::shared_ptr<const TrustList> trusted,
                             Statistics& statistics)
    : options_(std::move(options)),
      statistics_(statistics),
      fetches_(link_, kDepositPatience * options_.link.patience, statistics),
      trusted_(std::move(trusted)),
      outbox_({.allowance = {options_.outbox_limit / 2, options_.outbox_limit},
               .entry_limit = options_.entry_limit,
               .lifetime = options_.lifetime,
               .chunk_patience = kDepositPatience * options_.link.patience},
              options_.key ? &*options_.key : nullptr, link_, statistics),
      link_(options_.link, options_.more_servers) {}

RemoteCluster::~RemoteCluster() { outbox_.Finish(); }

void RemoteCluster::Trust(std::shared_ptr<const TrustList> trusted) {
  const MutexLock lock(mutex_);
  trusted_ = std::move(trusted);
}

void RemoteCluster::Refresh() {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(asks_time_, true)) return;
  }
  const auto take = [this, asked = std::chrono::system_clock::now()](const RedisReply* reply) {
    const auto now = std::chrono::system_clock::now();
    const MutexLock lock(mutex_);
    asks_time_ = false;
    const auto redis = reply == nullptr ? std::nullopt : ParseTime(*reply);
    // Redis is assumed to have answered in the middle between question and answer.
    if (redis) clock_ahead_ = duration_cast<milliseconds>(asked + (now - asked) / 2 - *redis);
  };
  if (link_.SendToAny({"TIME"}, take)) return;
  const MutexLock lock(mutex_);
  asks_time_ = false;
}

std::shared_ptr<const TrustList> RemoteCluster::trusted() const {
  const MutexLock lock(mutex_);
  return trusted_;
}

ClusterGauges RemoteCluster::gauges() const {
  RedisServers::State state = link_.state();
  const MutexLock lock(mutex_);
  return {.nodes = state.servers,
          .connected = state.connected,
          .address = std::move(state.address),
          .problem = std::move(state.problem),
          .signs = options_.key.has_value(),
          .trusted_keys = trusted_->size(),
          .trusts_own_key = options_.key && trusted_->Holds(options_.key->public_key()),
          .leases = leases_ + deposit_leases_,
          .clock_ahead = clock_ahead_,
          .unanswered = state.pending,
          .unsent_bytes = state.unsent_bytes,
          .unwritten_bytes = outbox_.bytes()};
}

bool RemoteCluster::Ask(Question question, const std::stop_token& ended, Asker asker) {
  if (!link_.connected()) return false;
  uint64_t id = 0;
  {
    const MutexLock lock(mutex_);
    id = ++last_id_;
  }
  link_.At(Clock::now(),
           [this, id, question = std::move(question), ended, asker = std::move(asker)]() mutable {
             Begin(id, std::move(question), std::move(ended), std::move(asker));
           });
  return true;
}

void RemoteCluster::Close() {
  auto closed = std::make_shared<std::promise<void>>();
  const std::future<void> done = closed->get_future();
  link_.At(Clock::now(), [this, closed] {
    closed_ = true;
    while (!open_.empty()) End(open_.begin()->first);
    closed->set_value();
  });
  // If the link has ended, it destroys the work and thus the promise. That ends the wait too.
  closed.reset();
  done.wait();
}

RemoteCluster::Open* RemoteCluster::FindOpen(uint64_t id) {
  const auto found = open_.find(id);
  return found == open_.end() ? nullptr : &found->second;
}

void RemoteCluster::Begin(uint64_t id, Question question, std::stop_token ended, Asker asker) {
  if (closed_) return;
  Open& open = open_[id];
  open.question = std::move(question);
  open.asker = std::move(asker);
  if (IsDeposit(open.question) && options_.deposit_limit > options_.entry_limit) {
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

milliseconds RemoteCluster::PatienceOfWait(const Question& question) const {
  if (!IsDeposit(question)) return options_.link.patience;
  return std::max(PatienceFor(question), options_.lease);
}

milliseconds RemoteCluster::PatienceFor(const Question& question) const {
  if (IsDeposit(question)) return kDepositPatience * options_.link.patience;
  if (question.usual_time.count() == 0) return options_.link.patience;
  const auto tenth = duration_cast<milliseconds>(question.usual_time / 10);
  return std::max(milliseconds(1), std::min(tenth, options_.link.patience));
}

// Asks for the entries. With `acquire`, asks for the lease first: if another node has just released
// it, the entries of that node are then found.
void RemoteCluster::Find(uint64_t id, bool acquire) {
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
    const std::string token = RandomDigest().Hex().substr(0, kLeaseTokenBytes);
    const LeaseName lease = NameOfLease(open->question);
    ++look->missing;
    sent = link_.Send(lease.place,
                      {"SET", lease.name, ValueOf(*open, token, 0), "NX", "PX",
                       fmt::to_string(options_.lease.count())},
                      [this, id, look, token, lease, entries_later](const RedisReply* reply) {
                        TakeLease(id, lease, token, look.get(), reply);
                        if (entries_later && !look->lost) AskForEntries(id, look);
                        if (--look->missing == 0) EndLook(id, look);
                      });
  }
  if (!sent) return Compile(id);
  if (!entries_later) AskForEntries(id, look);
  link_.At(open->deadline, [this, id, look] {
    if (look->missing > 0) BeLate(id, look.get());
  });
  link_.At(Clock::now() + options_.link.patience, [this, look] {
    if (look->missing > 0) link_.NoteSlow();
  });
}

void RemoteCluster::AskForEntries(uint64_t id, const std::shared_ptr<Look>& look) {
  const Open* const open = FindOpen(id);
  if (open == nullptr) return;
  look->missing += look->found.size();
  for (size_t place = 0; place < look->found.size(); ++place) {
    const auto take = [this, id, look, place](const RedisReply* reply) {
      TakeReply(id, look, place, reply);
    };
    if (!Fetch(open->question.entries[place], take)) take(nullptr);
  }
}

bool RemoteCluster::Fetch(const EntryName& entry_name, RedisLink::Then then) {
  // At most `entry_limit` bytes are requested. A larger entry arrives cut off, and is refused.
  const std::string end = fmt::to_string(options_.entry_limit - 1);
  const std::string name = NameOf(entry_name);
  return link_.Send(PlaceOf(entry_name), {"GETRANGE", name, "0", end}, std::move(then));
}

void RemoteCluster::TakeLease(uint64_t id, const LeaseName& lease, const std::string& token,
                              Look* look, const RedisReply* reply) {
  using Kind = RedisReply::Kind;
  // Only a nil reply means that another node has the lease. After an error, for example because
  // Redis refuses writes, this node does not wait for others.
  if (reply == nullptr || reply->kind == Kind::kError) look->lost = true;
  if (reply == nullptr || reply->kind != Kind::kText) return;
  Open* const open = FindOpen(id);
  if (open == nullptr) return outbox_.Release(lease.place, lease.name, token);
  open->token = token;
  ++HeldFor(open->question);
  if (open->compiles) statistics_.Add(Counter::kRemoteLeases);  // the compile has already begun
  look->acquired = true;
  RenewLater(id);
  if (open->files_of) Renew(open);
}

void RemoteCluster::TakeReply(uint64_t id, const std::shared_ptr<Look>& look, size_t place,
                              const RedisReply* reply) {
  Open* const open = FindOpen(id);
  if (reply == nullptr || reply->kind == RedisReply::Kind::kError) {
    bool& gone = place == 0 ? look->lost : look->partial;
    gone = true;
  }
  if (open != nullptr && reply != nullptr && reply->kind == RedisReply::Kind::kText) {
    const EntryName& name = open->question.entries[place];
    SharedEntry entry = Verified(name, *reply);
    if (name.kind != EntryKind::kChunkList) {
      look->found[place] = std::move(entry);
    } else if (entry) {
      look->chunks = DecodeChunkList(*entry.deposit, options_.deposit_limit);
    }
  }
  if (--look->missing == 0) EndLook(id, look);
}

std::variant<SharedEntry, EntryRefusal> RemoteCluster::Opened(const EntryName& name,
                                                              const RedisReply& reply) const {
  if (reply.text.empty()) return SharedEntry();  // there is no such key
  return OpenEntry(name, reply.text,
                   {.trusted = *trusted(),
                    .now = Now(),
                    .max_age = options_.lifetime,
                    .max_bytes = options_.entry_limit});
}

SharedEntry RemoteCluster::Verified(const EntryName& name, const RedisReply& reply) {
  const auto opened = Opened(name, reply);
  if (const auto* const entry = std::get_if<SharedEntry>(&opened)) return *entry;
  statistics_.Add(CounterOf(std::get<EntryRefusal>(opened)));
  return {};
}

void RemoteCluster::Peek(Question question, std::function<void(Peeked)> told) {
  if (!link_.connected()) {
    return told({.finding = TierFinding::kNotConnected, .reason = link_.state().problem});
  }
  if (IsDeposit(question)) return PeekDeposit(std::move(question), std::move(told));
  if (question.counted) statistics_.Add(Counter::kRemoteLookups);
  const auto peek = std::make_shared<Peeking>();
  peek->question = std::move(question);
  peek->told = std::move(told);
  link_.At(Clock::now(), [this, peek] {
    const std::vector<EntryName>& entries = peek->question.entries;
    peek->peeked.found.resize(entries.size());
    peek->missing = entries.size();
    for (size_t place = 0; place < entries.size(); ++place) {
      const auto take = [this, peek, place](const RedisReply* reply) {
        TakePeeked(*peek, place, reply);
      };
      if (!Fetch(entries[place], take)) take(nullptr);
    }
    const milliseconds patience = PatienceFor(peek->question);
    link_.At(Clock::now() + patience, [this, peek, patience] {
      if (peek->missing > 0) link_.NoteSlow();
      if (peek->peeked.finding != TierFinding::kHasIt) {
        peek->peeked = {.finding = TierFinding::kNoAnswer,
                        .reason = fmt::format("a build waits {} ms for it", patience.count())};
      }
      EndPeek(*peek);
    });
  });
}

// A question without a lease: it also fetches the chunks of a deposit.
void RemoteCluster::PeekDeposit(Question question, std::function<void(Peeked)> told) {
  question.compile.reset();
  auto ended = std::make_shared<std::stop_source>();
  const auto tell = [ended, told = std::move(told)](Peeked peeked) {
    if (ended->request_stop()) told(std::move(peeked));
  };
  const bool asked = Ask(std::move(question), ended->get_token(),
                         {.found =
                              [tell](const Found& found) {
                                tell({.finding = TierFinding::kHasIt, .found = found.entries});
                                return true;
                              },
                          .compile = [tell] { tell({}); },
                          .looks_outside = {}});
  if (!asked) tell({.finding = TierFinding::kNotConnected});
}

void RemoteCluster::TakePeeked(Peeking& peek, size_t place, const RedisReply* reply) {
  if (!peek.told) return;
  Peeked& peeked = peek.peeked;
  const bool answered = reply != nullptr && reply->kind == RedisReply::Kind::kText;
  const auto opened = answered ? Opened(peek.question.entries[place], *reply) : SharedEntry();
  const auto* const refusal = std::get_if<EntryRefusal>(&opened);
  if (refusal != nullptr && peek.question.counted) statistics_.Add(CounterOf(*refusal));
  if (!answered) {
    if (peeked.finding != TierFinding::kHasIt) {
      peeked.finding = TierFinding::kNoAnswer;
      peeked.reason = reply == nullptr ? "the connection was lost" : Printable(reply->text);
    }
  } else if (const auto* const entry = std::get_if<SharedEntry>(&opened)) {
    peeked.found[place] = *entry;
    if (place == 0 && *entry) {
      peeked.finding = TierFinding::kHasIt;
      peeked.reason.clear();
    }
  } else if (peeked.finding == TierFinding::kNoEntry) {
    peeked.finding = TierFinding::kRefused;
    peeked.reason = WhyRefused(*refusal);
  }
  if (--peek.missing == 0) EndPeek(peek);
}

void RemoteCluster::EndPeek(Peeking& peek) {
  const auto told = std::exchange(peek.told, nullptr);
  if (told && !closed_) told(std::move(peek.peeked));
}

bool RemoteCluster::Serves(Open* open, const Look& look) {
  const bool any = std::ranges::any_of(look.found, [](const auto& each) { return bool(each); });
  // The callback `found` may end the question. `open` stays valid, because the link runs End()
  // later.
  const bool waited = open->waits && !open->compiles;
  if (!any || !open->asker.found({TierName::kRemote, look.found})) return false;
  if (waited) in_vain_in_a_row_ = 0;
  return true;
}

void RemoteCluster::EndLook(uint64_t id, const std::shared_ptr<Look>& shared_look) {
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
  // Another node has released the lease without a result, and this node may not acquire the lease.
  if (!look.acquires) return Compile(id);
  // If the server of the manifest is unreachable, a second wait would be of no use: the artifact
  // may not be found without its manifest.
  if (++open->holders > (look.partial ? 1 : kMaxHolders)) return Compile(id);
  AwaitOther(id);
}

// Continues the question with the whole deposit, or without one.
void RemoteCluster::FetchChunks(uint64_t id, const std::shared_ptr<Look>& look) {
  const EntryName& list = FindOpen(id)->question.entries.back();
  fetches_.Add({.list = *std::exchange(look->chunks, std::nullopt),
                .place = PlaceOf(list),
                .name = NameOf(list),
                .deadline = Clock::now() + options_.longest_fetch,
                .wanted = [this, id] { return FindOpen(id) != nullptr; },
                .done =
                    [this, id, look](std::optional<std::string> contents) {
                      if (contents) {
                        look->found.front().deposit =
                            std::make_shared<const std::string>(std::move(*contents));
                      }
                      EndLook(id, look);
                    }});
}

// A node at its limit of leases takes no more, but still waits for other nodes' compiles.
bool RemoteCluster::MayAcquire(const Question& question) {
  return options_.key && HeldFor(question) < (IsDeposit(question) ? options_.max_deposit_leases
                                                                  : options_.max_leases);
}

std::atomic<size_t>& RemoteCluster::HeldFor(const Question& question) {
  return IsDeposit(question) ? deposit_leases_ : leases_;
}

void RemoteCluster::AwaitOther(uint64_t id) {
  Open* const open = FindOpen(id);
  if (open == nullptr) return;
  if (!std::exchange(open->waits, true)) statistics_.Add(Counter::kRemoteWaits);
  const auto usual = duration_cast<milliseconds>(open->question.usual_time) * kUsualTimes;
  const milliseconds longest = IsDeposit(open->question) ? open->question.longest_wait
                               : usual.count() == 0
                                   ? kUnknownWait
                                   : std::clamp(usual, kShortestWait, kLongestWait);
  if (Clock::now() >= open->question.since + longest) {
    statistics_.Add(Counter::kRemoteWaitsInVain);
    if (++in_vain_in_a_row_ >= kMaxInVain) ignore_leases_until_ = Clock::now() + kIgnoreLeases;
    return Compile(id);
  }
  const Clock::time_point next = Clock::now() + Jittered(open->pause);
  open->deadline = next + PatienceOfWait(open->question);
  open->pause = std::min(open->pause * 3 / 2, kLastPause);
  link_.At(next, [this, id] { LookAtLease(id); });
}

void RemoteCluster::LookAtLease(uint64_t id) {
  Open* const open = FindOpen(id);
  if (open == nullptr || open->compiles) return;
  const auto answered = std::make_shared<bool>(false);
  const auto take = [this, id, answered](const RedisReply* reply) {
    *answered = true;
    Open* const waits = FindOpen(id);
    if (waits == nullptr || waits->compiles) return;
    using Kind = RedisReply::Kind;
    if (reply == nullptr || reply->kind == Kind::kError) return Compile(id);
    const auto lease =
        reply->kind == Kind::kText ? ReadLease(waits, reply->text) : std::optional<Lease>();
    // If there is no lease, its holder has finished or died, or there was no holder.
    if (!lease && !waits->waits) return Compile(id);
    if (!lease) {
      waits->deadline = Clock::now() + PatienceOfWait(waits->question);
      return Find(id, MayAcquire(waits->question));
    }
    if (lease->uid) TellWhoseFiles(id, *lease->uid);
    AwaitOther(id);
  };
  const auto [place, lease] = NameOfLease(open->question);
  if (!link_.Send(place, {"GET", lease}, take)) return Compile(id);
  link_.At(open->deadline, [this, id, answered] {
    if (!*answered) BeLate(id);
  });
}

std::optional<RemoteCluster::Lease> RemoteCluster::ParseLease(std::string_view text) {
  Lease lease;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    uid_t uid = 0;
    const char* const end = text.data() + colon;
    const auto read = std::from_chars(text.data(), end, uid);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    lease.uid = uid;
    text.remove_prefix(colon + 1);
  }
  const bool token = text.size() == kLeaseTokenBytes &&
                     text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return token ? std::optional(lease) : std::nullopt;
}

// A lease on a deposit counts only if a trusted node has signed it, and renews it: a node may wait
// for it for minutes. A lease on a compile is not signed, because the wait for it is short.
std::optional<RemoteCluster::Lease> RemoteCluster::ReadLease(Open* open, std::string_view value) {
  if (!IsDeposit(open->question)) return ParseLease(value);
  if (value != open->seen) {
    const auto lease = OpenLease(*open->question.compile, value, *trusted(), Now());
    if (!lease) return std::nullopt;
    if (lease->token == open->seen_lease.token && lease->renewals <= open->seen_lease.renewals) {
      return std::nullopt;
    }
    open->seen = value;
    open->seen_lease = *lease;
    open->seen_at = Clock::now();
  }
  const bool frozen = Clock::now() - open->seen_at > kFrozenAfter * options_.lease;
  return frozen ? std::nullopt : std::optional<Lease>(Lease());
}

void RemoteCluster::TellWhoseFiles(uint64_t id, uid_t uid) {
  Open* const open = FindOpen(id);
  if (std::exchange(open->files_of, uid)) return;
  open->asker.looks_outside(uid);
}

void RemoteCluster::LooksOutside(const Digest& compile, uid_t uid) {
  link_.At(Clock::now(), [this, compile, uid] {
    for (auto& [id, open] : open_) {
      if (open.question.compile != compile || !open.compiles) continue;
      open.files_of = uid;
      if (!open.token.empty()) Renew(&open);
    }
  });
}

// If the renewal fails, the lease expires and another node may compile too.
void RemoteCluster::Renew(Open* open) {
  const auto [place, lease] = NameOfLease(open->question);
  link_.Send(
      place,
      {"EVAL", kRenew, "1", lease, open->token, ValueOf(*open, open->token, ++open->renewals),
       fmt::to_string(options_.lease.count())},
      [](const RedisReply*) {});
}

std::string RemoteCluster::ValueOf(const Open& open, const std::string& token,
                                   uint64_t renewals) const {
  if (IsDeposit(open.question)) {
    const auto value = SignLease(*open.question.compile, {token, renewals}, *options_.key, Now());
    return value ? *value : token;  // without memory, other nodes do not wait
  }
  return open.files_of ? fmt::format("{}:{}", *open.files_of, token) : token;
}

// Compiles, because an answer is late. If the artifact came in time, it is used instead, even if
// another answer is late.
void RemoteCluster::BeLate(uint64_t id, const Look* look) {
  Open* const open = FindOpen(id);
  if (open == nullptr || open->compiles || (look != nullptr && Serves(open, *look))) return;
  statistics_.Add(Counter::kRemoteLate);
  Compile(id);
}

void RemoteCluster::Compile(uint64_t id) {
  Open* const open = FindOpen(id);
  if (open == nullptr || std::exchange(open->compiles, true)) return;
  if (!open->token.empty()) statistics_.Add(Counter::kRemoteLeases);
  open->asker.compile();
}

void RemoteCluster::RenewLater(uint64_t id) {
  link_.At(Clock::now() + options_.lease / 3, [this, id] {
    Open* const open = FindOpen(id);
    if (open == nullptr) return;
    Renew(open);
    RenewLater(id);
  });
}

// The lease is released after the compile's result was written, so that waiting nodes find it.
void RemoteCluster::End(uint64_t id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return;
  const Open open = std::move(found->second);
  open_.erase(found);
  if (open.token.empty()) return;
  --HeldFor(open.question);
  auto [place, lease] = NameOfLease(open.question);
  outbox_.Release(std::move(place), std::move(lease), open.token);
}

void RemoteCluster::Share(const EntryName& name, const SharedEntry& entry, Account account) {
  if (!options_.key || !link_.connected()) return;
  const bool is_deposit = name.kind == EntryKind::kDeposit;
  const uint64_t size = EncodedSizeOf(entry);
  if (size > (is_deposit ? options_.deposit_limit : options_.entry_limit)) {
    return statistics_.Add(Counter::kRemoteStayHome);
  }
  if (!is_deposit) return outbox_.Write(NameOf(name), name, entry, account);
  EntryName written{EntryKind::kDeposit, name.key, {}};
  EntryName other{EntryKind::kChunkList, name.key, {}};
  if (size > options_.entry_limit) std::swap(written, other);
  // The link's thread knows the lease.
  link_.At(Clock::now(), [this, name, written, other, entry, account] {
    const LeaseName lease = NameOfLease({.entries = {name}, .compile = name.key});
    RemoteOutbox::Fence fence{
        .place = lease.place, .lease = lease.name, .token = {}, .other = NameOf(other)};
    for (const auto& [id, open] : open_) {
      if (open.question.compile == name.key && !open.token.empty()) fence.token = open.token;
    }
    outbox_.Write(NameOf(written), written, entry, account, std::move(fence));
  });
}

void RemoteCluster::Forget(const EntryName& name) {
  if (!link_.connected()) return;
  std::vector<std::string> names = {NameOf(name)};
  if (name.kind == EntryKind::kDeposit && options_.deposit_limit > options_.entry_limit) {
    const std::string list = NameOf({EntryKind::kChunkList, name.key, {}});
    names.push_back(list);
    for (uint64_t at = 0; at < options_.deposit_limit; at += kDepositChunkBytes) {
      names.push_back(fmt::format("{}:{}", list, at / kDepositChunkBytes));
    }
  }
  // In the order of Share.
  link_.At(Clock::now(), [this, place = NameOf(name), names = std::move(names)] {
    outbox_.Remove(place, names);
  });
}

// The chunks of a deposit and their list are on the server that would have the deposit as one
// entry.
std::string RemoteCluster::PlaceOf(const EntryName& entry_name) const {
  if (entry_name.kind != EntryKind::kChunkList) return NameOf(entry_name);
  return NameOf({EntryKind::kDeposit, entry_name.key, {}});
}

std::string RemoteCluster::NameOf(const EntryName& entry_name) const {
  return fmt::format("{}{}:{}", options_.prefix, LetterOf(entry_name.kind), entry_name.key.Hex());
}

// The lease on a deposit is on the server of the deposit, so that one script can use both.
RemoteCluster::LeaseName RemoteCluster::NameOfLease(const Question& question) const {
  std::string name = NameOf({EntryKind::kLease, *question.compile, {}});
  return {.place = IsDeposit(question) ? NameOf(question.entries.front()) : name, .name = name};
}

}  // namespace cccl_cache::daemon
