// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <memory>
#include <utility>

#include "cccl_cache/c/batch.h"
#include "client/src/c_abi/handles.h"
#include "client/src/c_abi/this_process.h"
#include "client/src/calls/batch.h"

using cccl_cache::AsThisProcess;
using cccl_cache::BuildBatch;
using cccl_cache::CancellationDisabled;
using cccl_cache::Deadline;
using cccl_cache::Done;
using cccl_cache::Expected;
using cccl_cache::Fail;
using cccl_cache::ReadStruct;
using cccl_cache::RequestMessage;

struct cccl_cache_batch {
  std::unique_ptr<BuildBatch> batch;
  cccl_cache::ResultCache& memory;
};

namespace {

// A wait for the next build without a timeout. It ends earlier, because every build in a batch has
// a deadline.
constexpr std::chrono::hours kForever{24 * 365};

template <typename Program>
cccl_cache_status Add(cccl_cache_batch* batch, const Program* program,
                      const cccl_cache_build_options* given_options, uint64_t tag,
                      cccl_cache_error** error) {
  const AsThisProcess build(ReadStruct(program), ReadStruct(given_options));
  auto request = std::make_shared<RequestMessage>();
  Expected<Done> added = request->SetProgram(build.program());
  if (added.ok()) added = request->SetNamedOptions(build.options());
  if (!added.ok()) return Fail(std::move(added).error(), error);
  if (auto known = batch->memory.Find(*request)) {
    added = batch->batch->AddKnown(std::move(known), tag);
    return added.ok() ? CCCL_CACHE_OK : Fail(std::move(added).error(), error);
  }
  const auto priority = cccl_cache::PriorityOf(build.options());
  if (!priority.ok()) return Fail(priority.error(), error);
  added = request->SetOptions(build.options(), *priority);
  if (added.ok()) {
    request->CopyContents();
    auto name = batch->memory.NameOf(*request);
    added = batch->batch->Add(std::move(request), std::move(name), tag,
                              cccl_cache::DeadlineOf(build.options()));
  }
  return added.ok() ? CCCL_CACHE_OK : Fail(std::move(added).error(), error);
}

}  // namespace

cccl_cache_status cccl_cache_batch_open(cccl_cache_client* client, cccl_cache_batch** batch,
                                        cccl_cache_error** error) {
  const CancellationDisabled guard;
  auto opened = BuildBatch::Open(&client->daemon, &client->fallback, &client->memory);
  if (!opened.ok()) return Fail(std::move(opened).error(), error);
  *batch = new cccl_cache_batch{*std::move(opened), client->memory};
  return CCCL_CACHE_OK;
}

cccl_cache_status cccl_cache_batch_add_nvrtc(cccl_cache_batch* batch,
                                             const cccl_cache_nvrtc* program,
                                             const cccl_cache_build_options* options, uint64_t tag,
                                             cccl_cache_error** error) {
  const CancellationDisabled guard;
  return Add(batch, program, options, tag, error);
}

cccl_cache_status cccl_cache_batch_add_link(cccl_cache_batch* batch, const cccl_cache_link* program,
                                            const cccl_cache_build_options* options, uint64_t tag,
                                            cccl_cache_error** error) {
  const CancellationDisabled guard;
  return Add(batch, program, options, tag, error);
}

cccl_cache_status cccl_cache_batch_add_nvvm(cccl_cache_batch* batch, const cccl_cache_nvvm* program,
                                            const cccl_cache_build_options* options, uint64_t tag,
                                            cccl_cache_error** error) {
  const CancellationDisabled guard;
  return Add(batch, program, options, tag, error);
}

int cccl_cache_batch_fd(const cccl_cache_batch* batch) { return batch->batch->fd(); }

size_t cccl_cache_batch_pending(const cccl_cache_batch* batch) { return batch->batch->pending(); }

cccl_cache_status cccl_cache_batch_next(cccl_cache_batch* batch, uint32_t timeout_ms, uint64_t* tag,
                                        cccl_cache_result** result, cccl_cache_error** error) {
  const CancellationDisabled guard;
  *result = nullptr;
  auto next = batch->batch->Next(timeout_ms == CCCL_CACHE_NO_TIMEOUT
                                     ? Deadline::After(kForever)
                                     : Deadline::After(std::chrono::milliseconds(timeout_ms)));
  if (!next) return CCCL_CACHE_OK;
  *tag = next->tag;
  if (!next->result.ok()) return Fail(std::move(next->result).error(), error);
  *result = new cccl_cache_result{*std::move(next->result)};
  return CCCL_CACHE_OK;
}

void cccl_cache_batch_cancel(cccl_cache_batch* batch, uint64_t tag) {
  const CancellationDisabled guard;
  batch->batch->Cancel(tag);
}

void cccl_cache_batch_free(cccl_cache_batch* batch) {
  const CancellationDisabled guard;
  delete batch;
}
