// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/stream_call.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/wire/acquire_messages.h"

namespace cccl_cache::daemon {

/// One call of Acquire. Events of the lease arrive on other callers' threads. The first message
/// waits for its turn like any request. The call reads nothing while its caller waits for the
/// lease. A holder may send at any time, so the number of holders is bounded. A caller beyond the
/// bound waits for another lease of its user to end.
class AcquireCall final : public StreamCall {
 public:
  AcquireCall(BuildBackend& backend, const Peer& peer, CallStream& stream);
  ~AcquireCall() override;

 private:
  void OnMessage(grpc::ByteBuffer& message) override;
  void OnHalfClose() override;
  void OnSpace() override;
  /// An ended call takes no further lease, even if its client has not read the answer yet.
  void OnGone() override;
  [[nodiscard]] Status TakeKey(grpc::ByteBuffer& message);
  [[nodiscard]] Status TakeWord(grpc::ByteBuffer& message);
  [[nodiscard]] Status TakeContents(const std::string& bytes);
  [[nodiscard]] Status Publish(const LeasePublication& publication);
  void Abandon(bool failed);
  void TakeNews(const LeaseNews& news);
  void TakeLease(const LeaseGrant& grant);
  void HoldLease(const LeaseGrant& grant, Share lease);
  void HandOver(const DepositFound& found);
  void EndLost(const LeaseLost& lost);

  BuildBackend& backend_;
  const Peer& peer_;
  const Deposits::WaiterId seat_;
  bool asked_ = false;  ///< whether the key has arrived
  DepositClaim claim_;
  Share lease_;  ///< held while the caller holds the lease
  std::string contents_;
  Share contents_share_;
  std::shared_ptr<const void> counted_;  ///< counts the found deposit as in memory while it is sent
  DepositContents found_;
  uint64_t offset_ = 0;  ///< bytes of `found_` that are sent already
};

/// Returns the peer's claim for its request, in the scope that it may use. kDenied: the request
/// names a group that the kernel does not list for the peer.
[[nodiscard]] Result<DepositClaim> ClaimOf(const DepositAsk& ask, const Peer& peer);

}  // namespace cccl_cache::daemon
