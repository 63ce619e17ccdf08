// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/core/result.h"

namespace cccl_cached {

/// Collects the one frame (frame.h) that a worker may send, from bytes that come in pieces. Holds
/// no more memory than came. Not thread-safe.
class ReplyBuffer {
 public:
  explicit ReplyBuffer(uint64_t max_payload_bytes) : max_payload_bytes_(max_payload_bytes) {}

  /// kWorkerCrashed, with what is wrong: no frame, one that is too long, or bytes behind it.
  [[nodiscard]] Status Append(std::string_view bytes);
  [[nodiscard]] bool complete() const { return header_known_ && payload_.size() == length_; }
  /// Only once complete.
  [[nodiscard]] std::string TakePayload();

 private:
  Status AppendHeader(std::string_view& bytes);

  const uint64_t max_payload_bytes_;
  std::string header_;
  bool header_known_ = false;
  uint64_t length_ = 0;
  std::string payload_;
};

}  // namespace cccl_cached
