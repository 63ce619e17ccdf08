// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/leases/deposits.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include "base/group.h"
#include "base/wire.h"
#include "client/src/wire/messages.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

/// Returns the encoded DepositKey message. `wait` is the longest time that the daemon waits.
std::string Encode(const DepositQuestion& question, std::chrono::milliseconds wait = {}) {
  using Field = fields::DepositKey;
  ProtoWriter key;
  key.Bytes(Field::kNamespace, question.name_space);
  for (const DepositQuestion::Field& field : question.fields) {
    key.Message(Field::kFields, ProtoWriter()
                                    .Bytes(fields::DepositField::kName, field.name)
                                    .Bytes(fields::DepositField::kValue, field.value)
                                    .bytes());
  }
  if (question.gid) {
    key.Message(Field::kGroup,
                ProtoWriter().Number(fields::DepositGroup::kGid, *question.gid).bytes());
  }
  constexpr int64_t kMostWait = std::numeric_limits<uint32_t>::max();
  key.Number(Field::kWaitMs, static_cast<uint64_t>(std::min<int64_t>(wait.count(), kMostWait)));
  key.Number(Field::kAcceptsRelease, 1);
  key.Number(Field::kReleasedAtLimit, question.released_at_limit ? 1 : 0);
  key.Number(Field::kReplaces, question.replaces ? 1 : 0);
  return key.Number(Field::kWaitsOnly, question.waits_only ? 1 : 0).Take();
}

bool HasNul(const DepositQuestion& question) {
  const auto has_nul = [](std::string_view text) {
    return text.find('\0') != std::string_view::npos;
  };
  return has_nul(question.name_space) ||
         std::any_of(question.fields.begin(), question.fields.end(),
                     [&](const auto& field) { return has_nul(field.name); });
}

DepositDescription ReadDescription(ProtoReader reader) {
  using Field = fields::DepositDescription;
  DepositDescription description;
  while (const uint32_t number = reader.Next()) {
    if (number == Field::kKey) description.key = reader.View();
    if (number == Field::kNamespace) description.name_space = reader.View();
    if (number == Field::kSize) description.size = reader.Number();
    if (number == Field::kMadeAt) description.made_at = reader.Number();
    if (number == Field::kUsedAt) description.used_at = reader.Number();
    if (number != Field::kGroup) continue;
    description.gid = 0;
    ProtoReader group = reader.Message();
    while (const uint32_t member = group.Next()) {
      if (member != fields::DepositGroup::kGid) continue;
      description.gid = static_cast<uint32_t>(group.Number());
    }
  }
  return description;
}

Error NulInName() {
  return {CCCL_CACHE_INVALID_REQUEST, "a namespace or a field's name holds a NUL: only values may"};
}

/// The protocol's limit in bytes for requests other than builds, and the bytes that the encoding
/// adds to a key.
constexpr size_t kMaxTouched = 4096;
constexpr size_t kAroundKey = 4;

}  // namespace

Expected<DepositCalls::Acquired> DepositCalls::Acquire(const DepositQuestion& question,
                                                       std::chrono::milliseconds timeout) {
  if (HasNul(question)) return NulInName();
  ByteChain body;
  AppendMessage(
      ProtoWriter().Message(fields::AcquireRequest::kKey, Encode(question, timeout)).bytes(),
      &body);
  auto conversation = std::make_unique<DepositConversation>();
  DepositConversation* talk = conversation.get();
  auto open = channel_.Open("/cccl_cache.v1.Deposit/Acquire", body, talk, talk,
                            Deadline::After(timeout), [talk] { return talk->granted(); });
  if (!open.ok()) {
    Error error = std::move(open).error();
    if (error.status == CCCL_CACHE_TIMED_OUT) error.status = CCCL_CACHE_DEADLINE;
    return error;
  }
  if (open->call != nullptr) {
    auto lease = std::make_unique<HeldLease>(*std::move(open), std::move(conversation),
                                             channel_.socket(), question.hold);
    if (question.waits_only) return Acquired(ReleasedLease{lease->key()});
    return Acquired(std::move(lease));
  }
  if (talk->released()) return Acquired(ReleasedLease{std::move(talk->key())});
  if (!talk->found()) return NotUnderstood("an acquire");
  return Acquired(FoundDeposit{std::move(talk->key()), std::move(talk->contents())});
}

Expected<std::vector<DepositDescription>> DepositCalls::List(Deadline deadline) {
  std::vector<DepositDescription> all;
  while (true) {
    const std::string after = all.empty() ? "" : all.back().key;
    ByteChain body;
    AppendBytesMessage(fields::ListDepositsRequest::kAfter, after, &body);
    SingleMessage sink;
    Expected<Done> called = channel_.Invoke("/cccl_cache.v1.Deposit/List", body, &sink, deadline);
    if (!called.ok()) return std::move(called).error();
    bool more = false;
    ProtoReader reply(sink.message().View());
    while (const uint32_t number = reply.Next()) {
      using Field = fields::ListDepositsReply;
      if (number == Field::kDeposits) all.push_back(ReadDescription(reply.Message()));
      if (number == Field::kMore) more = reply.Number() != 0;
    }
    if (!sink.received() || !reply.ok()) return NotUnderstood("a question for deposits");
    if (!more) return all;
    // If a page has no key after the last known one, this loop would never end.
    if (all.empty() || all.back().key <= after) return NotUnderstood("a question for deposits");
  }
}

Expected<bool> DepositCalls::Remove(std::string_view key, Deadline deadline) {
  ByteChain body;
  AppendBytesMessage(fields::RemoveDepositRequest::kKey, key, &body);
  SingleMessage sink;
  Expected<Done> called = channel_.Invoke("/cccl_cache.v1.Deposit/Remove", body, &sink, deadline);
  if (!called.ok()) return std::move(called).error();
  ProtoReader reader(sink.message().View());
  bool removed = false;
  while (const uint32_t number = reader.Next()) {
    if (number == fields::RemoveDepositReply::kRemoved) removed = reader.Number() != 0;
  }
  if (!sink.received() || !reader.ok()) return NotUnderstood("a removal");
  return removed;
}

Expected<Done> DepositCalls::Touch(const std::vector<DepositQuestion>& questions,
                                   Deadline deadline) {
  if (std::any_of(questions.begin(), questions.end(), HasNul)) return NulInName();
  ProtoWriter request;
  const auto send = [&]() -> Expected<Done> {
    ByteChain body;
    AppendMessage(request.Take(), &body);
    SingleMessage sink;
    return channel_.Invoke("/cccl_cache.v1.Deposit/Touch", body, &sink, deadline);
  };
  for (const DepositQuestion& question : questions) {
    const std::string key = Encode(question);
    const size_t size = request.bytes().size();
    if (size > 0 && size + kAroundKey + key.size() > kMaxTouched) {
      if (auto sent = send(); !sent.ok()) return sent;
    }
    request.Message(fields::TouchDepositsRequest::kKeys, key);
  }
  if (request.bytes().empty()) return Done{};
  return send();
}

Expected<uint32_t> FindGroup(const std::string& name) {
  uint32_t number = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, number);
  if (parsed.ec == std::errc{} && parsed.ptr == end) return number;
  if (const std::optional<gid_t> found = GroupNamed(name)) return uint32_t{*found};
  return Error{CCCL_CACHE_INVALID_REQUEST,
               "this machine has no group \"" + name + "\": name another one, or give its number"};
}

}  // namespace cccl_cache
