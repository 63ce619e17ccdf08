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
#include "daemon/service/transport/stream_call.h"
#include "daemon/service/wire/acquire_messages.h"

namespace cccl_cache::daemon {

/// One call of Acquire. News come from other callers' threads, messages and ends from gRPC's: each
/// leaves a mark under the lock, and whoever left one does what can be done now (GoOn). The first
/// message waits for its turn like any request, a waiting caller is not read from, and holders, who
/// may speak at any time, are few. Deletes itself when the call is done.
class AcquireCall final : public RawCall, private GatedReader {
 public:
  AcquireCall(BuildBackend& backend, const Peer& peer, CallStream& stream);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  enum class Reading { kNot, kWaitsForTurn, kUnderWay };
  /// Outlives the call, for news may come when that is gone.
  struct Link {
    std::mutex mutex;
    AcquireCall* call = nullptr;  // guarded by mutex; null: gone
  };

  void StartReading() override;
  void GiveUp() override { context().TryCancel(); }
  [[nodiscard]] Status Begin();
  [[nodiscard]] Status TakeKey();
  [[nodiscard]] Status TakeWord();
  [[nodiscard]] Status TakeContents(const std::string& bytes);
  [[nodiscard]] Status Publish(const LeasePublication& publication);
  void Abandon();
  /// Ends the call with this, unless it is ended: an Error or LeaseLost.
  template <typename Reason>
  void Fail(const Reason& reason);

  static void ReceiveBytes(const std::shared_ptr<Link>& link, LeaseNews news);
  static void GoOn(const std::shared_ptr<Link>& link);
  // These require the link's mutex held.
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
  // Of who reads.
  grpc::ByteBuffer message_;
  DepositClaim claim_;
  std::string contents_;
  Share contents_share_;

  // Guarded by the link's mutex.
  Reading reading_ = Reading::kWaitsForTurn;
  bool asked_ = false;    ///< the key is there
  bool holding_ = false;  ///< so more is to be read
  Share lease_;
  std::shared_ptr<const void> counted_;  ///< that what was found is in memory
  bool writing_ = false;
  grpc::ByteBuffer written_;
  std::deque<grpc::ByteBuffer> messages_;  ///< to be written
  DepositContents found_;                  ///< to be written behind them
  uint64_t offset_ = 0;                    ///< in what was found
  bool answered_ = false;                  ///< all is said that is to be
  std::optional<grpc::Status> end_;        ///< what the call is to end with
  bool over_ = false;                      ///< ended
};

/// What this peer asks for, in the scope that it may ask for. kDenied: it names a group that the
/// kernel does not say it is in.
[[nodiscard]] Result<DepositClaim> ClaimOf(const DepositAsk& ask, const Peer& peer);

}  // namespace cccl_cache::daemon
