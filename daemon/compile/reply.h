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

/// Collects the one frame (frame.h) that a worker may send, from bytes that come in pieces. Touches
/// no more memory than came. Not thread-safe.
class ReplyBuffer {
 public:
  /// Takes memory for a payload of so many bytes before its first byte is kept. An error ends the
  /// frame with it.
  using Reserve = std::function<Status(uint64_t bytes)>;

  /// `reserve` may be empty.
  explicit ReplyBuffer(uint64_t max_payload_bytes, Reserve reserve = {})
      : max_payload_bytes_(max_payload_bytes), reserve_(std::move(reserve)) {}

  /// kWorkerCrashed: no frame, or bytes behind it. kOutOfMemory: it is too long. Or an error of
  /// Reserve.
  [[nodiscard]] Status Append(std::string_view bytes);
  [[nodiscard]] bool complete() const { return header_known_ && payload_.size() == length_; }
  /// Only once complete.
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

/// Whether this is an answer that this job can have: outputs of the kinds that its compiler makes,
/// and names that were asked for. kWorkerCrashed, with what is wrong.
[[nodiscard]] Status CheckReply(const CompileJob& job, const WorkerReply& reply);

}  // namespace cccl_cache::daemon
