// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "client/src/c_abi/handles.h"
#include "client/src/c_abi/this_process.h"
#include "client/src/wire/build_reply.h"

using cccl_cache::After;
using cccl_cache::AsThisProcess;
using cccl_cache::CancellationDisabled;
using cccl_cache::Deadline;
using cccl_cache::Done;
using cccl_cache::Expected;
using cccl_cache::Fail;
using cccl_cache::FillStruct;
using cccl_cache::FromWire;
using cccl_cache::MessagePtr;
using cccl_cache::ReadStruct;
using cccl_cache::RequestMessage;
using cccl_cache::ToBytes;
using cccl_cache::ToView;
using cccl_cache::ZeroStruct;

namespace {

// As long as the daemon looks at files that hang.
constexpr std::chrono::minutes kExplainTimeout{2};

cccl_cache_status Take(Expected<MessagePtr<CcclCache__V1__ExplainReply>> reply,
                       cccl_cache_explanation** explanation, cccl_cache_error** error) {
  if (!reply.ok()) return Fail(std::move(reply).error(), error);
  *explanation = new cccl_cache_explanation{*std::move(reply)};
  return CCCL_CACHE_OK;
}

template <typename Program>
cccl_cache_status Explain(cccl_cache_client* client, const Program* program,
                          const cccl_cache_build_options* given_options,
                          cccl_cache_explanation** explanation, cccl_cache_error** error) {
  const AsThisProcess build(ReadStruct(program), ReadStruct(given_options));
  const Deadline deadline = After(build.options().timeout_ms);
  RequestMessage request;
  Expected<Done> made = request.SetProgram(build.program());
  if (made.ok()) made = request.SetOptions(build.options());
  if (!made.ok()) return Fail(std::move(made).error(), error);
  return Take(client->daemon.Explain(&request, deadline), explanation, error);
}

}  // namespace

cccl_cache_status cccl_cache_explain_key(cccl_cache_client* client, cccl_cache_bytes key,
                                         uint32_t timeout_ms, cccl_cache_explanation** explanation,
                                         cccl_cache_error** error) {
  const CancellationDisabled guard;
  return Take(client->daemon.ExplainKey(ToView(key), After(timeout_ms, kExplainTimeout)),
              explanation, error);
}

cccl_cache_status cccl_cache_explain_nvrtc(cccl_cache_client* client,
                                           const cccl_cache_nvrtc* program,
                                           const cccl_cache_build_options* options,
                                           cccl_cache_explanation** explanation,
                                           cccl_cache_error** error) {
  const CancellationDisabled guard;
  return Explain(client, program, options, explanation, error);
}

cccl_cache_status cccl_cache_explain_link(cccl_cache_client* client, const cccl_cache_link* program,
                                          const cccl_cache_build_options* options,
                                          cccl_cache_explanation** explanation,
                                          cccl_cache_error** error) {
  const CancellationDisabled guard;
  return Explain(client, program, options, explanation, error);
}

cccl_cache_status cccl_cache_explain_nvvm(cccl_cache_client* client, const cccl_cache_nvvm* program,
                                          const cccl_cache_build_options* options,
                                          cccl_cache_explanation** explanation,
                                          cccl_cache_error** error) {
  const CancellationDisabled guard;
  return Explain(client, program, options, explanation, error);
}

void cccl_cache_explanation_describe(const cccl_cache_explanation* explanation,
                                     cccl_cache_explanation_info* info) {
  const CcclCache__V1__ExplainReply& fields = *explanation->reply;
  cccl_cache_explanation_info known = {};
  known.verdict = FromWire(fields.verdict, CCCL_CACHE_VERDICT_UNKNOWN_KEY);
  known.tier = FromWire(fields.tier, CCCL_CACHE_TIER_SHELF);
  known.reason = ToBytes(fields.reason);
  known.since_ms = fields.since_ms;
  known.nearest_key = ToBytes("");
  if (const CcclCache__V1__EarlierBuild* nearest = fields.nearest) {
    known.nearest_key = ToBytes(nearest->key);
    known.nearest_outcome = FromWire(nearest->outcome, CCCL_CACHE_FAILED);
    known.nearest_time_ms = nearest->time_ms;
  }
  known.difference_count = fields.n_differences;
  known.more_differences = fields.more_differences;
  known.tier_count = fields.n_tiers;
  FillStruct(known, info);
}

void cccl_cache_explanation_difference(const cccl_cache_explanation* explanation, size_t index,
                                       cccl_cache_difference* difference) {
  if (index >= explanation->reply->n_differences) {
    return ZeroStruct(difference);
  }
  const CcclCache__V1__Difference& fields = *explanation->reply->differences[index];
  cccl_cache_difference known = {};
  known.field = FromWire(fields.field, CCCL_CACHE_FIELD_PROGRAM_NAME);
  known.name = ToBytes(fields.name);
  known.was = ToBytes(fields.was);
  known.is = ToBytes(fields.is);
  known.was_lines = fields.was_lines;
  known.is_lines = fields.is_lines;
  FillStruct(known, difference);
}

void cccl_cache_explanation_tier(const cccl_cache_explanation* explanation, size_t index,
                                 cccl_cache_tier_look* look) {
  if (index >= explanation->reply->n_tiers) return ZeroStruct(look);
  const CcclCache__V1__TierLook& fields = *explanation->reply->tiers[index];
  cccl_cache_tier_look known = {};
  known.tier = FromWire(fields.tier, CCCL_CACHE_TIER_SHELF);
  known.finding = FromWire(fields.finding, CCCL_CACHE_FINDING_NOT_ASKED);
  known.reason = ToBytes(fields.reason);
  FillStruct(known, look);
}

void cccl_cache_explanation_free(cccl_cache_explanation* explanation) { delete explanation; }
