// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "client/src/c_abi/handles.h"
#include "client/src/leases/deposits.h"
#include "proto/lease_limit.h"

using cccl_cache::After;
using cccl_cache::CancellationDisabled;
using cccl_cache::DepositCalls;
using cccl_cache::DepositDescription;
using cccl_cache::DepositQuestion;
using cccl_cache::Error;
using cccl_cache::Expected;
using cccl_cache::Fail;
using cccl_cache::FillStruct;
using cccl_cache::FoundDeposit;
using cccl_cache::HeldLease;
using cccl_cache::ReadStruct;
using cccl_cache::ReleasedLease;
using cccl_cache::ToBytes;
using cccl_cache::ToView;
using cccl_cache::ZeroStruct;

struct cccl_cache_deposit {
  FoundDeposit found;
};

struct cccl_cache_lease {
  std::unique_ptr<HeldLease> held;  // null: the lease was released
  ReleasedLease released;
};

struct cccl_cache_deposits {
  std::vector<DepositDescription> all;
};

namespace {

Expected<DepositQuestion> QuestionOf(const cccl_cache_deposit_key& key) {
  DepositQuestion question;
  question.name_space = ToView(key.name_space);
  for (size_t i = 0; i < key.field_count; ++i) {
    question.fields.push_back({ToView(key.fields[i].name), ToView(key.fields[i].value)});
  }
  if (key.group.size > 0) {
    const auto gid = cccl_cache::FindGroup(std::string(ToView(key.group)));
    if (!gid.ok()) return gid.error();
    question.gid = *gid;
  }
  question.released_at_limit = key.released_at_limit != 0;
  question.replaces = key.replaces != 0;
  question.waits_only = key.waits_only != 0;
  return question;
}

}  // namespace

cccl_cache_status cccl_cache_acquire(cccl_cache_client* client, const cccl_cache_deposit_key* key,
                                     uint32_t timeout_ms, cccl_cache_deposit** hit,
                                     cccl_cache_lease** lease, cccl_cache_error** error) {
  const CancellationDisabled guard;
  *hit = nullptr;
  *lease = nullptr;
  auto question = QuestionOf(ReadStruct(key));
  if (!question.ok()) return Fail(std::move(question).error(), error);
  auto acquired = DepositCalls(client->daemon.channel())
                      .Acquire(*question, timeout_ms == 0 ? cccl_cache::kLeaseLimit
                                                          : std::chrono::milliseconds(timeout_ms));
  if (!acquired.ok()) return Fail(std::move(acquired).error(), error);
  if (auto* found = std::get_if<FoundDeposit>(&*acquired)) {
    *hit = new cccl_cache_deposit{std::move(*found)};
  } else if (auto* released = std::get_if<ReleasedLease>(&*acquired)) {
    *lease = new cccl_cache_lease{nullptr, std::move(*released)};
  } else {
    *lease = new cccl_cache_lease{std::get<std::unique_ptr<HeldLease>>(*std::move(acquired)), {}};
  }
  return CCCL_CACHE_OK;
}

cccl_cache_bytes cccl_cache_deposit_contents(const cccl_cache_deposit* deposit) {
  return ToBytes(deposit->found.contents);
}

cccl_cache_bytes cccl_cache_deposit_id(const cccl_cache_deposit* deposit) {
  return ToBytes(deposit->found.key);
}

void cccl_cache_deposit_free(cccl_cache_deposit* deposit) {
  const CancellationDisabled guard;
  delete deposit;
}

int32_t cccl_cache_lease_held(const cccl_cache_lease* lease) {
  return lease->held != nullptr && lease->held->held() ? 1 : 0;
}

int32_t cccl_cache_lease_released(const cccl_cache_lease* lease) {
  return lease->held == nullptr ? 1 : 0;
}

cccl_cache_bytes cccl_cache_lease_id(const cccl_cache_lease* lease) {
  return ToBytes(lease->held != nullptr ? lease->held->key() : lease->released.key);
}

uint64_t cccl_cache_lease_fence(const cccl_cache_lease* lease) {
  return lease->held != nullptr ? lease->held->fence() : 0;
}

cccl_cache_status cccl_cache_lease_publish(cccl_cache_lease* lease, cccl_cache_bytes contents,
                                           uint32_t timeout_ms, cccl_cache_error** error) {
  const CancellationDisabled guard;
  if (lease->held == nullptr) {
    return Fail(Error{CCCL_CACHE_LEASE_LOST,
                      "the lease was never this caller's: its holder failed and released all who "
                      "waited; nothing was deposited"},
                error);
  }
  auto published = lease->held->Publish(ToView(contents), After(timeout_ms));
  if (!published.ok()) return Fail(std::move(published).error(), error);
  return CCCL_CACHE_OK;
}

void cccl_cache_lease_abandon(cccl_cache_lease* lease) {
  const CancellationDisabled guard;
  if (lease->held != nullptr) lease->held->Abandon();
}

void cccl_cache_lease_fail(cccl_cache_lease* lease) {
  const CancellationDisabled guard;
  if (lease->held != nullptr) lease->held->Fail();
}

void cccl_cache_lease_free(cccl_cache_lease* lease) {
  const CancellationDisabled guard;
  delete lease;
}

cccl_cache_status cccl_cache_list_deposits(cccl_cache_client* client, uint32_t timeout_ms,
                                           cccl_cache_deposits** deposits,
                                           cccl_cache_error** error) {
  const CancellationDisabled guard;
  auto all = DepositCalls(client->daemon.channel()).List(After(timeout_ms));
  if (!all.ok()) return Fail(std::move(all).error(), error);
  *deposits = new cccl_cache_deposits{*std::move(all)};
  return CCCL_CACHE_OK;
}

cccl_cache_status cccl_cache_touch_deposits(cccl_cache_client* client,
                                            const cccl_cache_deposit_key* const* keys,
                                            size_t key_count, uint32_t timeout_ms,
                                            cccl_cache_error** error) {
  const CancellationDisabled guard;
  std::vector<DepositQuestion> questions;
  for (size_t i = 0; i < key_count; ++i) {
    auto question = QuestionOf(ReadStruct(keys[i]));
    if (!question.ok()) return Fail(std::move(question).error(), error);
    questions.push_back(*std::move(question));
  }
  auto touched = DepositCalls(client->daemon.channel()).Touch(questions, After(timeout_ms));
  if (!touched.ok()) return Fail(std::move(touched).error(), error);
  return CCCL_CACHE_OK;
}

size_t cccl_cache_deposits_count(const cccl_cache_deposits* deposits) {
  return deposits->all.size();
}

void cccl_cache_deposits_item(const cccl_cache_deposits* deposits, size_t index,
                              cccl_cache_deposit_info* info) {
  if (index >= deposits->all.size()) return ZeroStruct(info);
  const DepositDescription& fields = deposits->all[index];
  cccl_cache_deposit_info known = {};
  known.key = ToBytes(fields.key);
  known.name_space = ToBytes(fields.name_space);
  known.is_group = fields.gid ? 1 : 0;
  known.gid = fields.gid.value_or(0);
  known.size = fields.size;
  known.made_at = fields.made_at;
  known.used_at = fields.used_at;
  FillStruct(known, info);
}

void cccl_cache_deposits_free(cccl_cache_deposits* deposits) { delete deposits; }

cccl_cache_status cccl_cache_remove_deposit(cccl_cache_client* client, cccl_cache_bytes key,
                                            uint32_t timeout_ms, int32_t* removed,
                                            cccl_cache_error** error) {
  const CancellationDisabled guard;
  auto done = DepositCalls(client->daemon.channel()).Remove(ToView(key), After(timeout_ms));
  if (!done.ok()) return Fail(std::move(done).error(), error);
  *removed = *done ? 1 : 0;
  return CCCL_CACHE_OK;
}
