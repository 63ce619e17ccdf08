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
#include "daemon/remote/deposit_chunks.h"
#include "daemon/remote/signed_entry.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

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

}  // namespace

RemoteCluster::RemoteCluster(Options options, std::shared_ptr<const TrustList> trusted,
                             Statistics& statistics)
    : options_(std::move(options)),
      statistics_(statistics),
      entries_({.prefix = options_.prefix,
                .entry_limit = options_.entry_limit,
                .lifetime = options_.lifetime},
               std::move(trusted), link_),
      outbox_({.allowance = {options_.outbox_limit / 2, options_.outbox_limit},
               .entry_limit = options_.entry_limit,
               .lifetime = options_.lifetime,
               .chunk_patience = kDepositPatience * options_.link.patience},
              key(), entries_, link_, statistics),
      questions_({.key = key(),
                  .patience = options_.link.patience,
                  .lease = options_.lease,
                  .longest_fetch = options_.longest_fetch,
                  .max_leases = options_.max_leases,
                  .max_deposit_leases = options_.max_deposit_leases,
                  .deposit_limit = options_.deposit_limit,
                  .has_chunks = has_chunks()},
                 entries_, link_, outbox_, statistics),
      link_(options_.link, options_.more_servers) {}

RemoteCluster::~RemoteCluster() { outbox_.Finish(); }

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

ClusterGauges RemoteCluster::gauges() const {
  RedisServers::State state = link_.state();
  const auto trusted = entries_.trusted();
  const MutexLock lock(mutex_);
  return {.nodes = state.servers,
          .connected = state.connected,
          .address = std::move(state.address),
          .problem = std::move(state.problem),
          .signs = options_.key.has_value(),
          .trusted_keys = trusted->size(),
          .trusts_own_key = options_.key && trusted->Holds(options_.key->public_key()),
          .leases = questions_.leases(),
          .clock_ahead = clock_ahead_,
          .unanswered = state.pending,
          .unsent_bytes = state.unsent_bytes,
          .unwritten_bytes = outbox_.bytes()};
}

bool RemoteCluster::Ask(Question question, const std::stop_token& ended, Asker asker) {
  if (!link_.connected()) return false;
  link_.At(Clock::now(),
           [this, question = std::move(question), ended, asker = std::move(asker)]() mutable {
             if (!closed_)
               questions_.Begin(std::move(question), std::move(ended), std::move(asker));
           });
  return true;
}

void RemoteCluster::LooksOutside(const Digest& compile, uid_t uid) {
  link_.At(Clock::now(), [this, compile, uid] { questions_.LooksOutside(compile, uid); });
}

void RemoteCluster::Close() {
  auto closed = std::make_shared<std::promise<void>>();
  const std::future<void> done = closed->get_future();
  link_.At(Clock::now(), [this, closed] {
    closed_ = true;
    questions_.EndAll();
    closed->set_value();
  });
  // If the link has ended, it destroys the work and thus the promise. That ends the wait too.
  closed.reset();
  done.wait();
}

void RemoteCluster::Peek(Question question, std::function<void(Peeked)> told) {
  if (!link_.connected()) {
    return told({.finding = TierFinding::kNotConnected, .reason = link_.state().problem});
  }
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
      if (!entries_.Fetch(entries[place], take)) take(nullptr);
    }
    const milliseconds patience = questions_.PatienceFor(peek->question);
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

void RemoteCluster::TakePeeked(Peeking& peek, size_t place, const RedisReply* reply) {
  if (!peek.told) return;
  Peeked& peeked = peek.peeked;
  const bool answered = reply != nullptr && reply->kind == RedisReply::Kind::kText;
  const auto opened =
      answered ? entries_.Open(peek.question.entries[place], reply->text) : SharedEntry();
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

void RemoteCluster::Share(const EntryName& name, const SharedEntry& entry, Account account) {
  if (!options_.key || !link_.connected()) return;
  const bool is_deposit = name.kind == EntryKind::kDeposit;
  const uint64_t size = EncodedSizeOf(entry);
  if (size > (is_deposit ? options_.deposit_limit : options_.entry_limit)) {
    return statistics_.Add(Counter::kRemoteStayHome);
  }
  if (!is_deposit) return outbox_.Write(name, entry, account);
  const bool in_chunks = size > options_.entry_limit;
  const EntryName written{in_chunks ? EntryKind::kChunkList : EntryKind::kDeposit, name.key, {}};
  // The link's thread knows the lease.
  link_.At(Clock::now(), [this, written, entry, account] {
    outbox_.Write(written, entry, account, questions_.TokenFor(written.key));
  });
}

void RemoteCluster::Forget(const EntryName& name) {
  if (!link_.connected()) return;
  std::vector<std::string> names = {entries_.NameOf(name)};
  if (name.kind == EntryKind::kDeposit && has_chunks()) {
    const std::string list = entries_.NameOf({EntryKind::kChunkList, name.key, {}});
    names.push_back(list);
    for (uint64_t at = 0; at < options_.deposit_limit; at += kDepositChunkBytes) {
      names.push_back(fmt::format("{}:{}", list, at / kDepositChunkBytes));
    }
  }
  // In the order of Share.
  link_.At(Clock::now(), [this, place = entries_.PlaceOf(name), names = std::move(names)] {
    outbox_.Remove(place, names);
  });
}

}  // namespace cccl_cache::daemon
