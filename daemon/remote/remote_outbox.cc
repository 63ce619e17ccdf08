// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/remote_outbox.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/remote/signed_entry.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::string_view kRelease =
    "if redis.call('get',KEYS[1])==ARGV[1] then redis.call('del',KEYS[1]) end return 0";

}  // namespace

RemoteOutbox::RemoteOutbox(const Options& options, const SigningKey* key, RedisServers& servers,
                           Statistics& statistics)
    : options_(options), key_(key), servers_(servers), statistics_(statistics), thread_([this] {
        Run();
      }) {}

void RemoteOutbox::Finish() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

uint64_t RemoteOutbox::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_.in_all;
}

void RemoteOutbox::Write(std::string name, const EntryName& entry_name, const SharedEntry& entry,
                         Account account) {
  const uint64_t bytes = FootprintOf(entry);
  const MutexLock lock(mutex_);
  const auto own = bytes_of_.find(account);
  const uint64_t mine = own == bytes_of_.end() ? 0 : own->second;
  if (mine + bytes > options_.allowance.Most(account, mine, bytes_)) {
    return statistics_.Add(Counter::kRemoteWritesFailed);
  }
  bytes_of_[account] += bytes;
  bytes_.Add(account, bytes);
  waiting_.push_back({.name = std::move(name),
                      .entry_name = entry_name,
                      .entry = entry,
                      .account = account,
                      .bytes = bytes});
  changed_.NotifyAll();
}

void RemoteOutbox::Remove(std::string name) {
  const MutexLock lock(mutex_);
  waiting_.push_back({.name = std::move(name)});
  changed_.NotifyAll();
}

void RemoteOutbox::Release(std::string lease, std::string token) {
  const MutexLock lock(mutex_);
  waiting_.push_back({.name = std::move(lease), .token = std::move(token)});
  changed_.NotifyAll();
}

void RemoteOutbox::Run() {
  NameThread("outbox");
  while (true) {
    Outgoing next;
    {
      const MutexLock lock(mutex_);
      changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
      if (!next.token.empty() && !servers_.keeps_order() && !unanswered_.empty()) {
        held_.push_back({last_write_, std::move(next)});
        if (held_.size() > kMaxHeld) held_.pop_front();
        continue;
      }
    }
    Send(next);
  }
}

void RemoteOutbox::Send(const Outgoing& outgoing) {
  if (outgoing.entry) return SendEntry(outgoing);
  if (!outgoing.token.empty()) return SendRelease(outgoing);
  servers_.Send(outgoing.name, {"DEL", outgoing.name}, [](const RedisReply*) {});
}

void RemoteOutbox::SendEntry(const Outgoing& outgoing) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const Result<std::string> entry = SignEntry(outgoing.entry_name, outgoing.entry, *key_, now);
  Sent sent{.account = outgoing.account, .bytes = outgoing.bytes};
  {
    const MutexLock lock(mutex_);
    sent.number = ++last_write_;
    unanswered_.insert(sent.number);
  }
  const bool is_on_its_way =
      entry && entry->size() <= options_.entry_limit &&
      servers_.Send(outgoing.name,
                    {"SET", outgoing.name, *entry, "EX", fmt::to_string(options_.lifetime.count())},
                    [this, sent](const RedisReply* reply) {
                      EndWrite(sent, reply != nullptr && reply->kind != RedisReply::Kind::kError);
                    });
  if (!is_on_its_way) EndWrite(sent, false);
}

void RemoteOutbox::EndWrite(const Sent& sent, bool written) {
  statistics_.Add(written ? Counter::kRemoteWrites : Counter::kRemoteWritesFailed);
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
  servers_.Send(outgoing.name, {"EVAL", kRelease, "1", outgoing.name, outgoing.token},
                [](const RedisReply*) {});
}

}  // namespace cccl_cache::daemon
