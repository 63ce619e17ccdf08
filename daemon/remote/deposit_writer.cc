// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/deposit_writer.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "daemon/remote/deposit_chunks.h"
#include "daemon/remote/remote_lease.h"
#include "daemon/remote/signed_entry.h"

namespace cccl_cache::daemon {
namespace {

// KEYS are the lease, the deposit or its list of chunks, the key to write, which may be the same or
// that of a chunk, and the deposit's other form. ARGV are the token, the bytes, how long they are
// kept, and how the values at the lease and at both forms begin that the node can't verify. Such a
// value counts as nothing, and so does one of another type, unless another node has replaced it
// since. If no node holds the lease, the deposit is written only if there is none: so a late holder
// does not replace a newer deposit. The other form is removed, because a reader could take it for
// the deposit.
constexpr std::string_view kWriteDeposit =
    "local function at(key,junk) local value=redis.pcall('getrange',key,0,4095) "
    "if type(value)=='table' or value==junk then return '' end return value end "
    "local held=at(KEYS[1],ARGV[4]) "
    "if held~='' and string.sub(held,-32)~=ARGV[1] then return 0 end "
    "if held=='' and at(KEYS[2],ARGV[5])..at(KEYS[4],ARGV[6])~='' then return 0 end "
    "redis.call('set',KEYS[3],ARGV[2],'ex',ARGV[3]) "
    "if KEYS[2]==KEYS[3] then redis.call('del',KEYS[4]) end return 1";
static_assert(kMaxLeaseBytes == 4096);

EntryName OtherForm(const EntryName& name) {
  const bool is_list = name.kind == EntryKind::kChunkList;
  return {is_list ? EntryKind::kDeposit : EntryKind::kChunkList, name.key, {}};
}

std::optional<std::string> TextOf(std::optional<RedisReply> reply) {
  if (!reply || reply->kind != RedisReply::Kind::kText) return std::nullopt;
  return std::move(reply->text);
}

}  // namespace

WriteEnd EndOf(const RedisReply* reply) {
  using Kind = RedisReply::Kind;
  if (reply == nullptr || reply->kind == Kind::kError) return WriteEnd::kFailed;
  const bool fenced = reply->kind == Kind::kInteger && reply->integer == 0;  // by kWriteDeposit
  return fenced ? WriteEnd::kFenced : WriteEnd::kWritten;
}

void DepositWriter::Write(const Deposit& deposit, const std::function<void()>& between,
                          std::function<void(WriteEnd)> then) {
  const Keys keys{.lease = entries_.LeaseOn(deposit.name.key, deposit.name),
                  .written = entries_.NameOf(deposit.name),
                  .other = entries_.NameOf(OtherForm(deposit.name))};
  // A writer that holds the lease replaces what is there.
  const Junk junk = deposit.token.empty() ? FindJunk(deposit, keys) : Junk();
  std::variant<SharedEntry, WriteEnd> contents = deposit.entry;
  if (deposit.name.kind == EntryKind::kChunkList) {
    contents = WriteChunks(deposit, keys, junk, between);
  }
  if (const auto* end = std::get_if<WriteEnd>(&contents)) return then(*end);
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const Result<std::string> entry =
      SignEntry(deposit.name, std::get<SharedEntry>(contents), *key_, now);
  const bool sent = entry && entry->size() <= options_.entry_limit &&
                    Send(deposit, keys, junk, keys.written, *entry,
                         [then](const RedisReply* reply) { then(EndOf(reply)); });
  if (!sent) then(WriteEnd::kFailed);
}

DepositWriter::Junk DepositWriter::FindJunk(const Deposit& deposit, const Keys& keys) {
  const LeaseName& lease = keys.lease;
  const auto reply = Answer([&](RedisServers::Then then) {
    return servers_.Send(lease.place,
                         {"GETRANGE", lease.name, "0", fmt::to_string(kMaxLeaseBytes - 1)},
                         std::move(then));
  });
  if (!reply) return {};
  // A value of another type gives no text. It counts as no lease anyway.
  std::string held = TextOf(reply).value_or("");
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (OpenLease(deposit.name.key, held, *entries_.trusted(), now)) held.clear();
  return {.lease = std::move(held),
          .written = JunkAt(deposit.name),
          .other = JunkAt(OtherForm(deposit.name))};
}

std::string DepositWriter::JunkAt(const EntryName& name) {
  const auto text = TextOf(
      Answer([&](RedisServers::Then then) { return entries_.Fetch(name, std::move(then)); }));
  if (!text) return "";
  const auto opened = entries_.Open(name, *text);
  const auto* const refusal = std::get_if<EntryRefusal>(&opened);
  // An entry that is too large for this node is verified, and other nodes may take it.
  const bool is_junk = refusal != nullptr && *refusal != EntryRefusal::kTooLarge;
  return is_junk ? text->substr(0, kMaxLeaseBytes) : "";
}

std::variant<SharedEntry, WriteEnd> DepositWriter::WriteChunks(
    const Deposit& deposit, const Keys& keys, const Junk& junk,
    const std::function<void()>& between) {
  const std::string& contents = *deposit.entry.deposit;
  ChunkList list{.size = contents.size(), .chunks = {}};
  for (size_t index = 0; index * kDepositChunkBytes < contents.size(); ++index) {
    between();
    const auto stored = StoreChunk(contents, index);
    if (!stored) return WriteEnd::kFailed;
    const auto reply = Answer([&](RedisServers::Then then) {
      return Send(deposit, keys, junk, fmt::format("{}:{}", keys.written, index), *stored,
                  std::move(then));
    });
    const WriteEnd end = EndOf(reply ? &*reply : nullptr);
    if (end != WriteEnd::kWritten) return end;
    list.chunks.push_back(Sha256(*stored));
  }
  return SharedEntry{.deposit = std::make_shared<const std::string>(EncodeChunkList(list)),
                     .took = deposit.entry.took};
}

bool DepositWriter::Send(const Deposit& deposit, const Keys& keys, const Junk& junk,
                         const std::string& name, std::string_view bytes, RedisServers::Then then) {
  return servers_.Send(
      keys.lease.place,
      {"EVAL", kWriteDeposit, "4", keys.lease.name, keys.written, name, keys.other, deposit.token,
       bytes, fmt::to_string(options_.lifetime.count()), junk.lease, junk.written, junk.other},
      std::move(then));
}

std::optional<RedisReply> DepositWriter::Answer(
    const std::function<bool(RedisServers::Then)>& send) {
  // Without a reply: it is lost.
  using Arrived = std::optional<std::optional<RedisReply>>;
  const auto arrived = std::make_shared<Arrived>();
  const bool sent = send([this, arrived](RedisReply* reply) {
    const MutexLock lock(mutex_);
    *arrived = reply == nullptr ? std::optional<RedisReply>() : std::move(*reply);
    changed_.NotifyAll();
  });
  if (!sent) return std::nullopt;
  const MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, options_.chunk_patience,
                   [&]() REQUIRES(mutex_) { return stopped_ || arrived->has_value(); });
  return arrived->has_value() ? std::move(**arrived) : std::nullopt;
}

void DepositWriter::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

}  // namespace cccl_cache::daemon
