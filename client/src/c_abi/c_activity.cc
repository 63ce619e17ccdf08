// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/c_abi/handles.h"
#include "client/src/wire/build_reply.h"

using cccl_cache::After;
using cccl_cache::CancellationDisabled;
using cccl_cache::Fail;
using cccl_cache::FillStruct;
using cccl_cache::FromWire;
using cccl_cache::ToBytes;
using cccl_cache::ZeroStruct;

cccl_cache_status cccl_cache_get_activity(cccl_cache_client* client, uint32_t timeout_ms,
                                          cccl_cache_activity** activity,
                                          cccl_cache_error** error) {
  const CancellationDisabled guard;
  auto reply = client->daemon.Activity(After(timeout_ms));
  if (!reply.ok()) return Fail(std::move(reply).error(), error);
  *activity = new cccl_cache_activity{*std::move(reply)};
  return CCCL_CACHE_OK;
}

void cccl_cache_activity_describe(const cccl_cache_activity* activity,
                                  cccl_cache_activity_info* info) {
  const CcclCache__V1__ActivityReply& fields = *activity->reply;
  cccl_cache_activity_info known = {};
  known.slots = fields.slots;
  known.running = fields.running;
  known.queued = fields.queued;
  known.waiting = fields.waiting;
  known.preambles = fields.preambles;
  known.preamble_bytes = fields.preamble_bytes;
  known.flight_count = fields.n_flights;
  known.more_flights = fields.more_flights;
  known.user_count = fields.n_users;
  known.zygote_count = fields.n_zygotes;
  known.failure_count = fields.n_failures;
  known.compile_memory_bytes = fields.compile_memory_bytes;
  known.compile_memory_limit_bytes = fields.compile_memory_limit_bytes;
  known.waiting_for_memory = fields.waiting_for_memory;
  FillStruct(known, info);
}

void cccl_cache_activity_flight(const cccl_cache_activity* activity, size_t index,
                                cccl_cache_flight* flight) {
  if (index >= activity->reply->n_flights) return ZeroStruct(flight);
  const CcclCache__V1__Flight& fields = *activity->reply->flights[index];
  cccl_cache_flight known = {};
  known.key = ToBytes(fields.key);
  known.kind = ToBytes(fields.kind);
  known.toolchain = ToBytes(fields.toolchain);
  known.state = FromWire(fields.state, CCCL_CACHE_FLIGHT_LEASED);
  known.waiters = fields.waiters;
  known.age_ms = fields.age_ms;
  known.running_ms = fields.running_ms;
  known.estimate_ms = fields.estimate_ms;
  known.uid = fields.uid;
  known.of_this_process = fields.of_this_process;
  FillStruct(known, flight);
}

void cccl_cache_activity_user(const cccl_cache_activity* activity, size_t index,
                              cccl_cache_user_queue* user) {
  if (index >= activity->reply->n_users) return ZeroStruct(user);
  const CcclCache__V1__UserQueue& fields = *activity->reply->users[index];
  cccl_cache_user_queue known = {};
  known.user = ToBytes(fields.user);
  known.queued = fields.queued;
  known.running = fields.running;
  FillStruct(known, user);
}

void cccl_cache_activity_zygote(const cccl_cache_activity* activity, size_t index,
                                cccl_cache_zygote* zygote) {
  if (index >= activity->reply->n_zygotes) return ZeroStruct(zygote);
  const CcclCache__V1__Zygote& fields = *activity->reply->zygotes[index];
  cccl_cache_zygote known = {};
  known.toolchain = ToBytes(fields.toolchain);
  known.resident_bytes = fields.resident_bytes;
  known.jobs = fields.jobs;
  known.user = ToBytes(fields.user);
  FillStruct(known, zygote);
}

void cccl_cache_activity_failure(const cccl_cache_activity* activity, size_t index,
                                 cccl_cache_failure* failure) {
  if (index >= activity->reply->n_failures) return ZeroStruct(failure);
  const CcclCache__V1__Failure& fields = *activity->reply->failures[index];
  cccl_cache_failure known = {};
  known.time_ms = fields.time_ms;
  known.kind = ToBytes(fields.kind);
  known.uid = fields.uid;
  known.key = ToBytes(fields.key);
  known.error = ToBytes(fields.error);
  FillStruct(known, failure);
}

void cccl_cache_activity_free(cccl_cache_activity* activity) { delete activity; }
