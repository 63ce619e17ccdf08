// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/deposits.h"

#include <grp.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include "base/wire.h"
#include "client/src/wire/messages.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

Error NotUnderstood(std::string_view what) {
  return {CCCL_CACHE_PROTOCOL,
          "the daemon's answer to " + std::string(what) + " can't be understood"};
}

/// A DepositKey with the data it refers to; does not move.
class PackedQuestion {
 public:
  PackedQuestion(const DepositQuestion& question, std::chrono::milliseconds wait)
      : name_space_(question.name_space) {
    texts_.reserve(question.fields.size());
    fields_.reserve(question.fields.size());
    for (const DepositQuestion::Field& field : question.fields) {
      CcclCache__V1__DepositField& message = fields_.emplace_back();
      cccl_cache__v1__deposit_field__init(&message);
      message.name = texts_.emplace_back(field.name).data();
      message.value = {field.value.size(),
                       reinterpret_cast<uint8_t*>(const_cast<char*>(field.value.data()))};
      pointers_.push_back(&message);
    }
    cccl_cache__v1__deposit_group__init(&group_);
    group_.gid = question.gid.value_or(0);
    cccl_cache__v1__deposit_key__init(&key_);
    key_.namespace_ = name_space_.data();
    key_.fields = pointers_.data();
    key_.n_fields = pointers_.size();
    if (question.gid) key_.group = &group_;
    key_.wait_ms = static_cast<uint32_t>(
        std::min<int64_t>(wait.count(), std::numeric_limits<uint32_t>::max()));
    cccl_cache__v1__acquire_request__init(&request_);
    request_.key = &key_;
    AppendMessage(request_.base, &body_);
  }
  PackedQuestion(const PackedQuestion&) = delete;
  PackedQuestion& operator=(const PackedQuestion&) = delete;

  [[nodiscard]] const ByteChain& body() const { return body_; }

 private:
  std::string name_space_;
  std::vector<std::string> texts_;
  std::vector<CcclCache__V1__DepositField> fields_;
  std::vector<CcclCache__V1__DepositField*> pointers_;
  CcclCache__V1__DepositGroup group_;
  CcclCache__V1__DepositKey key_;
  CcclCache__V1__AcquireRequest request_;
  ByteChain body_;
};

bool HasNul(const DepositQuestion& question) {
  const auto has_nul = [](std::string_view text) {
    return text.find('\0') != std::string_view::npos;
  };
  return has_nul(question.name_space) ||
         std::any_of(question.fields.begin(), question.fields.end(),
                     [&](const auto& field) { return has_nul(field.name); });
}

struct ReplyDeleter {
  void operator()(CcclCache__V1__ListDepositsReply* reply) const {
    cccl_cache__v1__list_deposits_reply__free_unpacked(reply, nullptr);
  }
};

DepositDescription Describe(const CcclCache__V1__DepositDescription& message) {
  DepositDescription description{.key = message.key,
                                 .name_space = message.namespace_,
                                 .gid = std::nullopt,
                                 .size = message.size,
                                 .made_at = message.made_at,
                                 .used_at = message.used_at};
  if (message.group != nullptr) description.gid = message.group->gid;
  return description;
}

constexpr size_t kMaxGroup = size_t{1} << 28;  // bytes, with the names of its members

}  // namespace

Expected<DepositCalls::Acquired> DepositCalls::Acquire(const DepositQuestion& question,
                                                       std::chrono::milliseconds timeout) {
  if (HasNul(question)) {
    return Error{CCCL_CACHE_INVALID_REQUEST,
                 "a namespace or a field's name holds a NUL: only values may"};
  }
  const PackedQuestion packed(question, timeout);
  auto conversation = std::make_unique<DepositConversation>();
  DepositConversation* talk = conversation.get();
  auto open = channel_.Open("/cccl_cache.v1.Deposit/Acquire", packed.body(), talk, talk,
                            Deadline::After(timeout), [talk] { return talk->granted(); });
  if (!open.ok()) {
    Error error = std::move(open).error();
    if (error.status == CCCL_CACHE_TIMED_OUT) error.status = CCCL_CACHE_DEADLINE;
    return error;
  }
  if (open->call != nullptr) {
    return Acquired(
        std::make_unique<HeldLease>(*std::move(open), std::move(conversation), channel_.socket()));
  }
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
    const std::unique_ptr<CcclCache__V1__ListDepositsReply, ReplyDeleter> reply(
        cccl_cache__v1__list_deposits_reply__unpack(
            nullptr, sink.message().size,
            reinterpret_cast<const uint8_t*>(sink.message().bytes.get())));
    if (!sink.received() || reply == nullptr) return NotUnderstood("a question for deposits");
    for (size_t i = 0; i < reply->n_deposits; ++i) all.push_back(Describe(*reply->deposits[i]));
    if (reply->more == 0) return all;
    // Without this check, a page that does not advance would repeat for ever.
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

Expected<uint32_t> FindGroup(const std::string& name) {
  uint32_t number = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, number);
  if (parsed.ec == std::errc{} && parsed.ptr == end) return number;
  group entry = {};
  group* found = nullptr;
  // All members of the group must fit.
  std::vector<char> buffer(1 << 16);
  while (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == ERANGE &&
         buffer.size() < kMaxGroup) {
    buffer.resize(2 * buffer.size());
  }
  if (found == nullptr) {
    return Error{CCCL_CACHE_INVALID_REQUEST, "this machine has no group \"" + name +
                                                 "\": name another one, or give its number"};
  }
  return static_cast<uint32_t>(found->gr_gid);
}

}  // namespace cccl_cache
