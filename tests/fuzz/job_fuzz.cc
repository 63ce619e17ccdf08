// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/compile/job.h"

/// A reply that decodes must encode to the same bytes; a job that decodes must be readable to its
/// last text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cccl_cached;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto reply = DecodeReply(bytes)) assert(EncodeReply(*reply).Joined() == bytes);
  const auto job = DecodeJob(bytes);
  if (!job) return 0;
  for (const std::string_view option : job->options) assert(option.data()[option.size()] == '\0');
  for (const WorkerJob::Header& header : job->headers) {
    assert(header.contents.data()[header.contents.size()] == '\0');
  }
  assert(job->source.data() == nullptr || job->source.data()[job->source.size()] == '\0');
  return 0;
}
