// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/remote_outbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/remote/remote_lease.h"
#include "daemon/remote/signed_entry.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {

RemoteOutbox::RemoteOutbox(const Options& options, const SigningKey* key, RemoteEntries& entries,
                           RedisServers& servers, Statistics& statistics)
    : options_(options),
      key_(key),
      entries_(entries),
      servers_(servers),
      statistics_(statistics),
      deposits_({.entry_limit = options.entry_limit,
                 .lifetime = options.lifetime,
                 .chunk_patience = options.chunk_patience},
                key, entries, servers),
      thread_([this] { Run(); }) {}

void RemoteOutbox::Finish() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  deposits_.Stop();
  if (thread_.joinable()) thread_.join();
}

uint64_t RemoteOutbox::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_.in_all;
}

void RemoteOutbox::Write(const EntryName& name, const SharedEntry& entry, Account account,
                         std::string token) {
  const uint64_t bytes = FootprintOf(entry);
  const MutexLock lock(mutex_);
  const auto own = bytes_of_.find(account);
  const uint64_t mine = own == bytes_of_.end() ? 0 : own->second;
  if (mine + bytes > options_.allowance.Most(account, mine, bytes_)) {
    return statistics_.Add(Counter::kRemoteWritesFailed);
  }
  bytes_of_[account] += bytes;
  bytes_.Add(account, bytes);
  Queue({.place = entries_.PlaceOf(name),
         .entry_name = name,
         .entry = entry,
         .account = account,
         .bytes = bytes,
         .token = std::move(token)});
}

void RemoteOutbox::Remove(std::string place, std::vector<std::string> names) {
  const MutexLock lock(mutex_);
  Queue({.place = std::move(place), .removed = std::move(names)});
}

void RemoteOutbox::Release(std::string place, std::string lease, std::string token) {
  const MutexLock lock(mutex_);
  Queue({.place = std::move(place), .token = std::move(token), .lease = std::move(lease)});
}

void RemoteOutbox::Queue(Outgoing outgoing) {
  const bool follows_large =
      sending_ == outgoing.place ||
      std::ranges::find(large_, outgoing.place, &Outgoing::place) != large_.end();
  const bool is_large = outgoing.entry && outgoing.entry_name.kind == EntryKind::kChunkList;
  (is_large || follows_large ? large_ : waiting_).push_back(std::move(outgoing));
  changed_.NotifyAll();
}

void RemoteOutbox::Run() {
  NameThread("outbox");
  while (const std::optional<Outgoing> next = Await()) Send(*next);
}

std::optional<RemoteOutbox::Outgoing> RemoteOutbox::Await() {
  const MutexLock lock(mutex_);
  sending_.clear();
  while (true) {
    changed_.Wait(mutex_, [this]() REQUIRES(mutex_) {
      return ending_ || !waiting_.empty() || !large_.empty();
    });
    if (auto next = Take(waiting_)) return next;
    if (auto next = Take(large_)) {
      sending_ = next->place;
      return next;
    }
    if (ending_) return std::nullopt;
  }
}

std::optional<RemoteOutbox::Outgoing> RemoteOutbox::Take(std::deque<Outgoing>& queue) {
  while (!queue.empty()) {
    Outgoing next = std::move(queue.front());
    queue.pop_front();
    if (next.lease.empty() || servers_.keeps_order() || unanswered_.empty()) return next;
    held_.push_back({last_write_, std::move(next)});
    if (held_.size() > kMaxHeld) held_.pop_front();
  }
  return std::nullopt;
}

void RemoteOutbox::SendWaiting() {
  const auto next = [this] {
    const MutexLock lock(mutex_);
    return Take(waiting_);
  };
  while (const std::optional<Outgoing> waiting = next()) Send(*waiting);
}

void RemoteOutbox::Send(const Outgoing& outgoing) {
  if (outgoing.entry) return SendEntry(outgoing);
  if (!outgoing.lease.empty()) return SendRelease(outgoing);
  std::vector<std::string_view> command = {"DEL"};
  command.insert(command.end(), outgoing.removed.begin(), outgoing.removed.end());
  servers_.Send(outgoing.place, command, [](const RedisReply*) {});
}

void RemoteOutbox::SendEntry(const Outgoing& outgoing) {
  Sent sent{.account = outgoing.account, .bytes = outgoing.bytes};
  const EntryName& name = outgoing.entry_name;
  if (IsDeposit(name.kind)) {
    return deposits_.Write(
        {name, outgoing.entry, outgoing.token}, [this] { SendWaiting(); },
        [this, sent](WriteEnd end) { EndWrite(sent, end); });
  }
  {
    const MutexLock lock(mutex_);
    sent.number = ++last_write_;
    unanswered_.insert(sent.number);
  }
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const Result<std::string> entry = SignEntry(name, outgoing.entry, *key_, now);
  const std::string seconds = fmt::to_string(options_.lifetime.count());
  const bool is_on_its_way =
      entry && entry->size() <= options_.entry_limit &&
      servers_.Send(outgoing.place, {"SET", entries_.NameOf(name), *entry, "EX", seconds},
                    [this, sent](const RedisReply* reply) { EndWrite(sent, EndOf(reply)); });
  if (!is_on_its_way) EndWrite(sent, WriteEnd::kFailed);
}

void RemoteOutbox::EndWrite(const Sent& sent, WriteEnd end) {
  statistics_.Add(end == WriteEnd::kWritten  ? Counter::kRemoteWrites
                  : end == WriteEnd::kFenced ? Counter::kRemoteWritesFenced
                                             : Counter::kRemoteWritesFailed);
  std::vector<Outgoing> now;
  {
    const MutexLock lock(mutex_);
    unanswered_.erase(sent.number);
    bytes_.Remove(sent.account, sent.bytes);
    if ((bytes_of_[sent.account] -= sent.bytes) == 0) bytes_of_.erase(sent.account);
    const uint64_t oldest = unanswered_.empty() ? UINT64_MAX : *unanswered_.begin();
    for (; !held_.empty() && held_.front().after < oldest; held_.pop_front())
      now.push_back(std::move(held_.front().release));
  }
  for (const Outgoing& each : now) SendRelease(each);
}

// If the release is refused or lost, the lease expires.
void RemoteOutbox::SendRelease(const Outgoing& outgoing) {
  servers_.Send(outgoing.place, {"EVAL", kReleaseLease, "1", outgoing.lease, outgoing.token},
                [](const RedisReply*) {});
}

}  // namespace cccl_cache::daemon
