// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/reply_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "daemon/compile/frame.h"

namespace cccl_cached {

Status ReplyBuffer::Append(std::string_view bytes) {
  if (!header_known_) {
    Status header = AppendHeader(bytes);
    if (!header || !header_known_) return header;
  }
  if (bytes.size() > length_ - payload_.size()) {
    return Error{ErrorCode::kWorkerCrashed, "the worker said more than its answer"};
  }
  payload_.append(bytes);
  return Ok{};
}

Status ReplyBuffer::AppendHeader(std::string_view& bytes) {
  const size_t wanted = std::min(bytes.size(), kFrameHeaderBytes - header_.size());
  header_.append(bytes.substr(0, wanted));
  bytes.remove_prefix(wanted);
  if (header_.size() < kFrameHeaderBytes) return Ok{};
  const Result<uint64_t> length = DecodeFrameHeader(header_);
  if (!length) return length.error();
  if (*length > max_payload_bytes_) {
    return Error{ErrorCode::kWorkerCrashed,
                 fmt::format("the worker's answer of {} bytes is over the limit of {}", *length,
                             max_payload_bytes_)};
  }
  length_ = *length;
  header_known_ = true;
  return Ok{};
}

std::string ReplyBuffer::TakePayload() {
  assert(complete());
  return std::exchange(payload_, {});
}

}  // namespace cccl_cached
