// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/snapshots.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/transport/raw_call.h"
#include "daemon/system/blocking_pool.h"

namespace cccl_cache::daemon {

/// Limits of the threads for calls that last as long as the disk and the caller need. The budget
/// (Resource::kStreams) limits the number of such calls, so that no call waits for a thread.
inline constexpr BlockingPool::Bounds kBlockingCallThreads{.name = "calls",
                                                           .awaited = "the daemon's disk",
                                                           .threads_per_uid = 256,
                                                           .time = std::chrono::hours(24 * 365),
                                                           .close_awaits_looks = true};

/// A call that uses a disk during its whole duration, on its own thread. The thread reads and
/// writes one message after the other, and waits for each, so messages are not faster than the
/// disk. The call is counted in the budget before its first message is received. Deletes itself
/// when it is done.
class BlockingCall final : public RawCall {
 public:
  /// Limits of one message, in bytes: of its data, and of its other fields, such as the digests of
  /// a release.
  static constexpr uint64_t kChunkBytes = 1u << 20;
  static constexpr uint64_t kChunkHead = 128;

  /// Does all work of a call, on its thread. The call ends with the returned status.
  using Work = std::function<Status(BlockingCall&)>;

  /// Returns a function that makes this peer's calls. Each call does `work`.
  [[nodiscard]] static MakeCall Maker(BuildBackend& backend, BlockingPool& threads,
                                      const Peer& peer, Work work);

  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final;
  void OnCancel() final;
  void OnDone() final;

  // For use by `work`:
  // Reads the next message. Returns an error if the caller has left or is too slow, or if the bytes
  // are malformed.
  [[nodiscard]] Status Read(google::protobuf::MessageLite& message);
  [[nodiscard]] Status Write(const google::protobuf::MessageLite& message);

  [[nodiscard]] BuildBackend& backend() { return backend_; }
  [[nodiscard]] const Peer& peer() const { return peer_; }
  /// Returns the caller, with the account that is charged for memory. Valid as long as the call.
  [[nodiscard]] SnapshotCaller Caller();

 private:
  BlockingCall(BuildBackend& backend, BlockingPool& threads, Peer peer, CallStream& stream,
               Work work)
      : RawCall(stream),
        backend_(backend),
        threads_(threads),
        peer_(std::move(peer)),
        work_(std::move(work)) {}

  void Begin();
  void End(const Status& status);
  [[nodiscard]] Status Hold(uint64_t bytes);
  /// Waits for the end of the operation in progress. Returns an error if the operation failed or
  /// took too long.
  [[nodiscard]] Status Await();
  void Notice(bool ok);

  BuildBackend& backend_;
  BlockingPool& threads_;
  const Peer peer_;
  const Work work_;
  Share call_;
  Share stream_;
  Share memory_;
  grpc::ByteBuffer message_;
  std::stop_source left_;
  uint64_t moved_ = 0;                            ///< size of all messages that were read or
                                                  ///< written, in bytes
  std::chrono::steady_clock::duration waited_{};  ///< total time spent waiting for the caller

  Mutex mutex_;
  CondVar changed_;
  /// Whether the last operation succeeded. None while it is in progress, and after Await() has
  /// returned the result.
  std::optional<bool> ended_well_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
