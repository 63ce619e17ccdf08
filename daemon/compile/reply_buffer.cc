// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/reply_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "daemon/compile/protocol/frame.h"

namespace cccl_cache::daemon {

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
    return Error{ErrorCode::kOutOfMemory,
                 fmt::format("the result of {} bytes is larger than the {} that the daemon takes "
                             "from a compiler: make the program smaller",
                             *length, max_payload_bytes_)};
  }
  if (reserve_) {
    if (const Status reserved = reserve_(*length); !reserved) return reserved.error();
  }
  payload_.reserve(*length);
  length_ = *length;
  header_known_ = true;
  return Ok{};
}

std::string ReplyBuffer::TakePayload() {
  assert(complete());
  return std::exchange(payload_, {});
}

}  // namespace cccl_cache::daemon
