// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include "daemon/service/transport/call_stream.h"

namespace cccl_cache::daemon {

/// What the daemon makes of one call. Its reactions come one at a time, on the thread of the call's
/// server, and never from within Start or Finish. These may be called on any thread: at most one
/// read and one write at a time, no write beside a Finish, and exactly one Finish or
/// StartWriteAndFinish in all, behind which nothing is started.
class RawCall {
 public:
  RawCall(const RawCall&) = delete;
  RawCall& operator=(const RawCall&) = delete;
  virtual ~RawCall() = default;

  /// False: there is no message, for the caller has sent its last one, or left.
  virtual void OnReadDone(bool /*ok*/) {}
  /// False: the caller left. Not told of the message of StartWriteAndFinish.
  virtual void OnWriteDone(bool /*ok*/) {}
  /// The caller left, or its connection was lost, before the call's end had reached it.
  virtual void OnCancel() {}
  /// All is over: nothing refers to the call any more, which deletes itself.
  virtual void OnDone() = 0;

 protected:
  explicit RawCall(CallStream& stream) : stream_(stream) { stream.Attach(*this); }

  void StartRead(grpc::ByteBuffer* message) { stream_.StartRead(message); }
  /// The message need not outlive this.
  void StartWrite(const grpc::ByteBuffer* message) { stream_.StartWrite(*message); }
  void StartWriteAndFinish(const grpc::ByteBuffer* message, const grpc::Status& status) {
    stream_.StartWriteAndFinish(*message, status);
  }
  void Finish(const grpc::Status& status) { stream_.Finish(status); }
  [[nodiscard]] grpc::ServerContextBase& context() { return stream_.context(); }

 private:
  CallStream& stream_;
};

}  // namespace cccl_cache::daemon
