// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/peer.h"
#include "daemon/core/model/result.h"
#include "daemon/service/limits/backend.h"
#include "daemon/service/limits/read_gate.h"
#include "daemon/service/transport/raw_call.h"
#include "daemon/service/wire/acquire_messages.h"

namespace cccl_cache::daemon {

/// One call of Acquire. News of the lease arrives on other callers' threads, messages and the end
/// of operations on gRPC's. Every callback records its event under the link's mutex, then calls
/// GoOn(), which starts the next operation. The first message waits for its turn like any request.
/// The call reads nothing while its caller waits for the lease. A holder may send at any time, so
/// the number of holders is bounded. Deletes itself when the call is done.
class AcquireCall final : public RawCall, private GatedReader {
 public:
  AcquireCall(BuildBackend& backend, const Peer& peer, CallStream& stream);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  enum class Reading { kNot, kWaitsForTurn, kUnderWay };
  /// Links callbacks to the call. Outlives the call, because news may arrive after the call is
  /// gone.
  struct Link {
    std::mutex mutex;
    AcquireCall* call = nullptr;  // guarded by mutex; null once the call is gone
  };

  void StartReading() override;
  void GiveUp() override { context().TryCancel(); }
  [[nodiscard]] Status Begin();
  [[nodiscard]] Status TakeKey();
  [[nodiscard]] Status TakeWord();
  [[nodiscard]] Status TakeContents(const std::string& bytes);
  [[nodiscard]] Status Publish(const LeasePublication& publication);
  void Abandon();
  /// Ends the call with this reason, an Error or LeaseLost, unless it has ended already.
  template <typename Reason>
  void Fail(const Reason& reason);

  static void ReceiveBytes(const std::shared_ptr<Link>& link, LeaseNews news);
  static void GoOn(const std::shared_ptr<Link>& link);
  // These require the link's mutex.
  void Hold(const LeaseGrant& grant);
  void HandOver(const DepositFound& found);
  void End(const Error& error);
  void End(const LeaseLost& lost);
  void Advance();
  void WriteNext();
  void FinishIfIdle();

  BuildBackend& backend_;
  const Peer& peer_;
  const std::shared_ptr<Link> link_;
  const Deposits::WaiterId seat_;
  Share call_;
  // Used only by the thread that handles the message.
  grpc::ByteBuffer message_;
  DepositClaim claim_;
  std::string contents_;
  Share contents_share_;

  // Guarded by the link's mutex.
  Reading reading_ = Reading::kWaitsForTurn;
  bool asked_ = false;    ///< true once the key has arrived
  bool holding_ = false;  ///< true while the caller holds the lease, so more messages are read
  Share lease_;
  std::shared_ptr<const void> counted_;  ///< counts the found deposit as in memory while it is sent
  bool writing_ = false;
  grpc::ByteBuffer written_;
  std::deque<grpc::ByteBuffer> messages_;  ///< messages that wait to be written
  DepositContents found_;                  ///< contents to be written after `messages_`
  uint64_t offset_ = 0;                    ///< bytes of `found_` that are written already
  bool answered_ = false;            ///< true once only `messages_` and `found_` remain to be sent
  std::optional<grpc::Status> end_;  ///< the status that the call will end with
  bool over_ = false;                ///< true once the call has finished
};

/// Returns the peer's claim for what it asks, in the scope that it may use. kDenied: it names a
/// group that the kernel does not list for it.
[[nodiscard]] Result<DepositClaim> ClaimOf(const DepositAsk& ask, const Peer& peer);

}  // namespace cccl_cache::daemon
