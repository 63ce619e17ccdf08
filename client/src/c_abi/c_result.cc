// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/c_abi/handles.h"
#include "client/src/wire/build_hint.h"
#include "client/src/wire/build_reply.h"

using cccl_cache::CancellationDisabled;
using cccl_cache::FillStruct;
using cccl_cache::FromWire;
using cccl_cache::HintFor;
using cccl_cache::ToBytes;
using cccl_cache::ToView;
using cccl_cache::ZeroStruct;

void cccl_cache_result_describe(const cccl_cache_result* result, cccl_cache_result_info* info) {
  const cccl_cache::BuildReply::Fields& fields = result->timed.reply->fields();
  const bool made = !result->timed.from_memory;
  cccl_cache_result_info known = {};
  known.outcome = made ? FromWire(fields.outcome, CCCL_CACHE_LOCAL) : CCCL_CACHE_HIT;
  known.tier = made ? FromWire(fields.tier, CCCL_CACHE_TIER_SHELF) : CCCL_CACHE_TIER_PROCESS;
  known.key = ToBytes(fields.key);
  known.fingerprint = ToBytes(fields.fingerprint);
  known.toolchain_id = ToBytes(fields.toolchain_id);
  known.toolchain_version = ToBytes(fields.toolchain_version);
  known.log = ToBytes(fields.log);
  known.reason =
      known.outcome == CCCL_CACHE_LOCAL ? ToBytes(result->timed.why_local) : ToBytes(fields.reason);
  known.native_code = fields.native_code;
  known.remembered = fields.remembered ? 1 : 0;
  if (made) {
    known.precompiled_headers = fields.precompiled_headers ? 1 : 0;
    known.queue_us = fields.queue_us;
    known.compile_us = fields.compile_us;
    known.saved_us = fields.saved_us;
    known.request_id = fields.request_id;
  }
  known.total_us = static_cast<uint64_t>(result->timed.total.count());
  known.artifact_count = result->timed.reply->artifact_count();
  known.lowered_name_count = fields.lowered_names.size();
  if (known.outcome == CCCL_CACHE_FAILED) {
    known.hint = ToBytes(HintFor(ToView(known.log.size > 0 ? known.log : known.reason)));
  }
  FillStruct(known, info);
}

void cccl_cache_result_artifact(const cccl_cache_result* result, size_t index,
                                cccl_cache_artifact* artifact) {
  const cccl_cache::BuildReply& reply = *result->timed.reply;
  if (index >= reply.artifact_count()) return ZeroStruct(artifact);
  const cccl_cache::BuildReply::Artifact& fields = reply.fields().artifacts[index];
  cccl_cache_artifact known = {};
  known.kind = FromWire(fields.kind, CCCL_CACHE_OPTIXIR);
  known.contents = ToBytes(reply.contents(index));
  known.sha256 = ToBytes(fields.sha256);
  FillStruct(known, artifact);
}

void cccl_cache_result_lowered_name(const cccl_cache_result* result, size_t index,
                                    cccl_cache_lowered_name* name) {
  const cccl_cache::BuildReply::Fields& fields = result->timed.reply->fields();
  if (index >= fields.lowered_names.size()) return ZeroStruct(name);
  cccl_cache_lowered_name known = {};
  known.expression = ToBytes(fields.lowered_names[index].expression);
  known.lowered = ToBytes(fields.lowered_names[index].lowered);
  FillStruct(known, name);
}

void cccl_cache_result_free(cccl_cache_result* result) {
  const CancellationDisabled guard;
  delete result;
}

namespace {

void Describe(const cccl_cache_result& result, cccl_cache_answer* known) {
  cccl_cache_result_info info = {.struct_size = sizeof(info)};
  cccl_cache_result_describe(&result, &info);
  known->outcome = info.outcome;
  if (info.artifact_count == 0) return;
  cccl_cache_artifact artifact = {.struct_size = sizeof(artifact)};
  cccl_cache_result_artifact(&result, 0, &artifact);
  known->kind = artifact.kind;
  known->contents = artifact.contents;
}

template <typename Program>
cccl_cache_status Ask(cccl_cache_status (*build)(cccl_cache_client*, const Program*,
                                                 const cccl_cache_build_options*,
                                                 cccl_cache_result**, cccl_cache_error**),
                      cccl_cache_client* client, const Program* program,
                      const cccl_cache_build_options* options, cccl_cache_answer* answer) {
  cccl_cache_answer known = {};
  const cccl_cache_status status = build(client, program, options, &known.result, &known.error);
  if (status == CCCL_CACHE_OK) Describe(*known.result, &known);
  FillStruct(known, answer);
  return status;
}

}  // namespace

cccl_cache_status cccl_cache_ask_nvrtc(cccl_cache_client* client, const cccl_cache_nvrtc* program,
                                       const cccl_cache_build_options* options,
                                       cccl_cache_answer* answer) {
  const CancellationDisabled guard;
  return Ask(cccl_cache_build_nvrtc, client, program, options, answer);
}

cccl_cache_status cccl_cache_ask_link(cccl_cache_client* client, const cccl_cache_link* program,
                                      const cccl_cache_build_options* options,
                                      cccl_cache_answer* answer) {
  const CancellationDisabled guard;
  return Ask(cccl_cache_build_link, client, program, options, answer);
}

cccl_cache_status cccl_cache_ask_nvvm(cccl_cache_client* client, const cccl_cache_nvvm* program,
                                      const cccl_cache_build_options* options,
                                      cccl_cache_answer* answer) {
  const CancellationDisabled guard;
  return Ask(cccl_cache_build_nvvm, client, program, options, answer);
}
