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

/// Collects a worker's reply frame (frame.h) from the pieces in which it arrives. A worker may send
/// only one. Memory grows with the received bytes. Not thread-safe.
class ReplyBuffer {
 public:
  /// A function that reserves memory for a payload of `bytes` bytes. Called once, before the first
  /// byte of the payload is stored. If it returns an error, Append() returns it too.
  using Reserve = std::function<Status(uint64_t bytes)>;

  /// `reserve` may be empty: then no memory is reserved.
  explicit ReplyBuffer(uint64_t max_payload_bytes, Reserve reserve = {})
      : max_payload_bytes_(max_payload_bytes), reserve_(std::move(reserve)) {}

  /// Appends the next bytes. Returns kWorkerCrashed if they are not part of a valid frame or come
  /// after its end, kOutOfMemory if the payload exceeds max_payload_bytes, or the error of Reserve.
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

/// Checks an untrusted reply: the compiler of this job can make outputs of these kinds, the job
/// requested these lowered names, and the name of the result code is printable. Returns
/// kWorkerCrashed otherwise.
[[nodiscard]] Status CheckReply(const CompileJob& job, const WorkerReply& reply);

}  // namespace cccl_cache::daemon
