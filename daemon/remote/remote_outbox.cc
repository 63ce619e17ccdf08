// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/remote_outbox.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/remote/deposit_chunks.h"
#include "daemon/remote/remote_lease.h"
#include "daemon/remote/signed_entry.h"
#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

// KEYS are the lease, the deposit or its list of chunks, the key to write, which may be the same or
// that of a chunk, and the deposit's other form. If no node holds the lease, the deposit is written
// only if there is none: so a late holder does not replace a newer deposit. The other form is
// removed, because a reader could take it for the deposit.
constexpr std::string_view kWriteDeposit =
    "local held=redis.call('get',KEYS[1]) "
    "if held and string.sub(held,-32)~=ARGV[1] then return 0 end "
    "if not held and redis.call('getrange',KEYS[2],0,0)..redis.call('getrange',KEYS[4],0,0)~='' "
    "then return 0 end "
    "redis.call('set',KEYS[3],ARGV[2],'ex',ARGV[3]) "
    "if KEYS[2]==KEYS[3] then redis.call('del',KEYS[4]) end return 1";

}  // namespace

RemoteOutbox::WriteEnd RemoteOutbox::EndOf(const RedisReply* reply) {
  using Kind = RedisReply::Kind;
  if (reply == nullptr || reply->kind == Kind::kError) return WriteEnd::kFailed;
  const bool fenced = reply->kind == Kind::kInteger && reply->integer == 0;  // by kWriteDeposit
  return fenced ? WriteEnd::kFenced : WriteEnd::kWritten;
}

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
                         Account account, std::optional<Fence> fence) {
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
                      .bytes = bytes,
                      .fence = std::move(fence)});
  changed_.NotifyAll();
}

void RemoteOutbox::Remove(std::string place, std::vector<std::string> names) {
  const MutexLock lock(mutex_);
  waiting_.push_back({.name = std::move(place), .removed = std::move(names)});
  changed_.NotifyAll();
}

void RemoteOutbox::Release(std::string place, std::string lease, std::string token) {
  const MutexLock lock(mutex_);
  waiting_.push_back(
      {.name = std::move(lease), .place = std::move(place), .token = std::move(token)});
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
  std::vector<std::string_view> command = {"DEL"};
  command.insert(command.end(), outgoing.removed.begin(), outgoing.removed.end());
  servers_.Send(outgoing.name, command, [](const RedisReply*) {});
}

void RemoteOutbox::SendEntry(const Outgoing& outgoing) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  Sent sent{.account = outgoing.account, .bytes = outgoing.bytes};
  {
    const MutexLock lock(mutex_);
    sent.number = ++last_write_;
    unanswered_.insert(sent.number);
  }
  std::variant<SharedEntry, WriteEnd> contents = outgoing.entry;
  if (outgoing.entry_name.kind == EntryKind::kChunkList) contents = SendChunks(outgoing);
  if (const auto* end = std::get_if<WriteEnd>(&contents)) return EndWrite(sent, *end);
  const Result<std::string> entry =
      SignEntry(outgoing.entry_name, std::get<SharedEntry>(contents), *key_, now);
  const bool is_on_its_way =
      entry && entry->size() <= options_.entry_limit &&
      SendBytes(outgoing, outgoing.name, *entry,
                [this, sent](const RedisReply* reply) { EndWrite(sent, EndOf(reply)); });
  if (!is_on_its_way) EndWrite(sent, WriteEnd::kFailed);
}

std::variant<SharedEntry, RemoteOutbox::WriteEnd> RemoteOutbox::SendChunks(
    const Outgoing& outgoing) {
  const std::string& deposit = *outgoing.entry.deposit;
  ChunkList list{.size = deposit.size(), .chunks = {}};
  for (size_t index = 0; index * kDepositChunkBytes < deposit.size(); ++index) {
    const auto stored = StoreChunk(deposit, index);
    if (!stored) return WriteEnd::kFailed;
    const WriteEnd end = SendChunk(outgoing, index, *stored);
    if (end != WriteEnd::kWritten) return end;
    list.chunks.push_back(Sha256(*stored));
  }
  return SharedEntry{.deposit = std::make_shared<const std::string>(EncodeChunkList(list)),
                     .took = outgoing.entry.took};
}

RemoteOutbox::WriteEnd RemoteOutbox::SendChunk(const Outgoing& outgoing, size_t index,
                                               std::string_view stored) {
  const auto answer = std::make_shared<std::optional<WriteEnd>>();
  const bool sent = SendBytes(outgoing, fmt::format("{}:{}", outgoing.name, index), stored,
                              [this, answer](const RedisReply* reply) {
                                const MutexLock lock(mutex_);
                                *answer = EndOf(reply);
                                changed_.NotifyAll();
                              });
  if (!sent) return WriteEnd::kFailed;
  const MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, options_.chunk_patience,
                   [&]() REQUIRES(mutex_) { return ending_ || answer->has_value(); });
  return answer->value_or(WriteEnd::kFailed);
}

bool RemoteOutbox::SendBytes(const Outgoing& outgoing, const std::string& name,
                             std::string_view bytes, RedisServers::Then then) {
  const std::string seconds = fmt::to_string(options_.lifetime.count());
  if (!outgoing.fence) {
    return servers_.Send(name, {"SET", name, bytes, "EX", seconds}, std::move(then));
  }
  const auto& [place, lease, token, other] = *outgoing.fence;
  return servers_.Send(
      place, {"EVAL", kWriteDeposit, "4", lease, outgoing.name, name, other, token, bytes, seconds},
      std::move(then));
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
  servers_.Send(outgoing.place, {"EVAL", kReleaseLease, "1", outgoing.name, outgoing.token},
                [](const RedisReply*) {});
}

}  // namespace cccl_cache::daemon
