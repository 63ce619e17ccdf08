// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/c_abi/c_handles.h"

using cccl_cache::FillStruct;

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
  return Ask(cccl_cache_build_nvrtc, client, program, options, answer);
}

cccl_cache_status cccl_cache_ask_link(cccl_cache_client* client, const cccl_cache_link* program,
                                      const cccl_cache_build_options* options,
                                      cccl_cache_answer* answer) {
  return Ask(cccl_cache_build_link, client, program, options, answer);
}

cccl_cache_status cccl_cache_ask_nvvm(cccl_cache_client* client, const cccl_cache_nvvm* program,
                                      const cccl_cache_build_options* options,
                                      cccl_cache_answer* answer) {
  return Ask(cccl_cache_build_nvvm, client, program, options, answer);
}
