// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>

#include "daemon/core/model/peer.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/snapshots.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/transport/call_threads.h"
#include "daemon/service/transport/stream_call.h"

namespace cccl_cache::daemon {

/// A call that works with a disk as long as it lasts, on a thread of its own, which reads and
/// writes messages and waits for each: they come and go at the pace of the disk. Counted before its
/// first message is received. Deletes itself when the call is done.
class BlockingCall : public RawCall {
 public:
  /// Data in one message, and what may stand around it.
  static constexpr uint64_t kChunkBytes = 1u << 20;
  static constexpr uint64_t kChunkHead = 16;

  /// Once, when it is constructed as a whole.
  void Begin();

  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final;
  void OnCancel() final;
  void OnDone() final;

 protected:
  BlockingCall(BuildBackend& backend, CallThreads& threads, Peer peer, CallStream& stream)
      : RawCall(stream), backend_(backend), threads_(threads), peer_(std::move(peer)) {}

  /// All of the call, on its thread. What it returns ends it.
  virtual Status Work() = 0;

  /// The next message. Errors: the caller left or says nothing, or this is no such message.
  [[nodiscard]] Status Read(google::protobuf::MessageLite& message);
  [[nodiscard]] Status Write(const google::protobuf::MessageLite& message);

  [[nodiscard]] BuildBackend& backend() { return backend_; }
  [[nodiscard]] const Peer& peer() const { return peer_; }
  /// This caller, to whom memory is counted; valid as long as the call.
  [[nodiscard]] SnapshotCaller Caller();

 private:
  void End(const Status& status);
  [[nodiscard]] Status Hold(uint64_t bytes);
  /// Returns when the operation that was started has ended, or will not in good time.
  [[nodiscard]] Status Await();
  void Notice(bool ok);

  BuildBackend& backend_;
  CallThreads& threads_;
  const Peer peer_;
  Share call_;
  Share stream_;
  Share memory_;
  grpc::ByteBuffer message_;
  std::stop_source left_;
  uint64_t moved_ = 0;                            ///< bytes of messages, either way
  std::chrono::steady_clock::duration waited_{};  ///< for the caller

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<bool> ended_well_;  ///< guarded by mutex_: the last operation
};

}  // namespace cccl_cache::daemon
