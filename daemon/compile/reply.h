// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/compile/protocol/job.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Collects the one frame (frame.h) that a worker may send, from pieces. Uses no more memory than
/// the received bytes. Not thread-safe.
class ReplyBuffer {
 public:
  /// Reserves memory for a payload of `bytes` bytes before its first byte is stored. An error ends
  /// the frame.
  using Reserve = std::function<Status(uint64_t bytes)>;

  /// `reserve` may be empty.
  explicit ReplyBuffer(uint64_t max_payload_bytes, Reserve reserve = {})
      : max_payload_bytes_(max_payload_bytes), reserve_(std::move(reserve)) {}

  /// Adds the next bytes. Errors: kWorkerCrashed if they are no frame or exceed it, kOutOfMemory if
  /// the frame is too long, or an error of Reserve.
  [[nodiscard]] Status Append(std::string_view bytes);
  [[nodiscard]] bool complete() const { return header_known_ && payload_.size() == length_; }
  /// Returns the payload. To be called only once complete().
  [[nodiscard]] std::string TakePayload();

 private:
  Status AppendHeader(std::string_view& bytes);

  const uint64_t max_payload_bytes_;
  const Reserve reserve_;
  std::string header_;
  bool header_known_ = false;
  uint64_t length_ = 0;
  std::string payload_;
};

/// Checks that the reply fits the job: its outputs are of kinds that the job's compiler makes, and
/// its names were requested. Otherwise returns kWorkerCrashed with the mismatch.
[[nodiscard]] Status CheckReply(const CompileJob& job, const WorkerReply& reply);

}  // namespace cccl_cache::daemon
