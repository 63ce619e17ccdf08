// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// What a worker sends, from the first byte of its frame to the check of its answer.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "daemon/compile/job.h"
#include "daemon/compile/reply_buffer.h"
#include "daemon/compile/reply_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cccl_cached;
  CompileJob job;
  job.request = std::make_shared<cccl_cache::BuildRequest>();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ReplyBuffer buffer(1 << 20);
  // In two pieces, so that the seam falls into header and payload alike.
  if (!buffer.Append(bytes.substr(0, size / 2)).ok()) return 0;
  if (!buffer.Append(bytes.substr(size / 2)).ok() || !buffer.complete()) return 0;
  const Result<WorkerReply> reply = DecodeReply(buffer.TakePayload());
  if (reply.ok()) (void)CheckReply(job, *reply).ok();
  return 0;
}
