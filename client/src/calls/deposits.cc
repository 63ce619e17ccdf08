// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/deposits.h"

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

/// A DepositKey with the data it refers to; does not move.
class PackedKey {
 public:
  explicit PackedKey(const DepositQuestion& question, std::chrono::milliseconds wait = {})
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
    key_.accepts_release = 1;
  }
  PackedKey(const PackedKey&) = delete;
  PackedKey& operator=(const PackedKey&) = delete;

  [[nodiscard]] CcclCache__V1__DepositKey* message() { return &key_; }
  [[nodiscard]] size_t size() const { return protobuf_c_message_get_packed_size(&key_.base); }

 private:
  std::string name_space_;
  std::vector<std::string> texts_;
  std::vector<CcclCache__V1__DepositField> fields_;
  std::vector<CcclCache__V1__DepositField*> pointers_;
  CcclCache__V1__DepositGroup group_;
  CcclCache__V1__DepositKey key_;
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

Error NulInName() {
  return {CCCL_CACHE_INVALID_REQUEST, "a namespace or a field's name holds a NUL: only values may"};
}

/// The protocol's bound for a request without a build, and the bytes that surround one key in it.
constexpr size_t kMaxTouched = 4096;
constexpr size_t kAroundKey = 4;

}  // namespace

Expected<DepositCalls::Acquired> DepositCalls::Acquire(const DepositQuestion& question,
                                                       std::chrono::milliseconds timeout) {
  if (HasNul(question)) return NulInName();
  PackedKey key(question, timeout);
  CcclCache__V1__AcquireRequest request = CCCL_CACHE__V1__ACQUIRE_REQUEST__INIT;
  request.key = key.message();
  ByteChain body;
  AppendMessage(request.base, &body);
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
    return Acquired(
        std::make_unique<HeldLease>(*std::move(open), std::move(conversation), channel_.socket()));
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

Expected<Done> DepositCalls::Touch(const std::vector<DepositQuestion>& questions,
                                   Deadline deadline) {
  if (std::any_of(questions.begin(), questions.end(), HasNul)) return NulInName();
  std::vector<std::unique_ptr<PackedKey>> keys;
  std::vector<CcclCache__V1__DepositKey*> messages;
  size_t bytes = 0;
  const auto send = [&]() -> Expected<Done> {
    CcclCache__V1__TouchDepositsRequest request = CCCL_CACHE__V1__TOUCH_DEPOSITS_REQUEST__INIT;
    request.keys = messages.data();
    request.n_keys = messages.size();
    ByteChain body;
    AppendMessage(request.base, &body);
    SingleMessage sink;
    Expected<Done> called = channel_.Invoke("/cccl_cache.v1.Deposit/Touch", body, &sink, deadline);
    keys.clear();
    messages.clear();
    bytes = 0;
    return called;
  };
  for (const DepositQuestion& question : questions) {
    auto key = std::make_unique<PackedKey>(question);
    if (!keys.empty() && bytes + kAroundKey + key->size() > kMaxTouched) {
      if (auto sent = send(); !sent.ok()) return sent;
    }
    bytes += kAroundKey + key->size();
    messages.push_back(key->message());
    keys.push_back(std::move(key));
  }
  if (keys.empty()) return Done{};
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
