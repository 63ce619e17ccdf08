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

/// One call of Acquire. Events of the lease arrive on threads of other calls. The first message
/// waits for its turn at the read gate like any request. After it, the call reads nothing until its
/// caller holds the lease. A holder may send messages at any time, so the number of holders is
/// limited. Above the limit of a user, a caller waits until another lease of this user ends.
class AcquireCall final : public StreamCall {
 public:
  AcquireCall(BuildBackend& backend, const Peer& peer, CallStream& stream);
  ~AcquireCall() override;

 private:
  void OnMessage(grpc::ByteBuffer& message) override;
  void OnHalfClose() override;
  void OnSpace() override;
  /// Ends the wait for another lease of the user to end. A call that has ended must not take a
  /// lease, even if the client has not read the answer yet.
  void OnGone() override;
  [[nodiscard]] Status TakeKey(grpc::ByteBuffer& message);
  [[nodiscard]] Status TakeWord(grpc::ByteBuffer& message);
  [[nodiscard]] Status TakeContents(const std::string& bytes);
  [[nodiscard]] Status Publish(const LeasePublication& publication);
  /// Releases the waiters of a deposit that does not fit: theirs would not either. Returns the
  /// error.
  [[nodiscard]] Error DoesNotFit(Error error);
  void Abandon(bool failed);
  void TakeNews(const LeaseNews& news);
  void TakeLease(const LeaseGrant& grant);
  void HoldLease(const LeaseGrant& grant, Share lease);
  void HandOver(const DepositFound& found);
  void EndLost(const LeaseLost& lost);

  BuildBackend& backend_;
  const Peer& peer_;
  const Deposits::WaiterId seat_;
  bool asked_ = false;  ///< whether the first message, with the key, has arrived
  DepositClaim claim_;
  Share lease_;  ///< share of kLeases, while the caller holds the lease
  std::string contents_;
  Share contents_share_;
  std::shared_ptr<const void> counted_;  ///< keeps the found deposit counted as in memory while it
                                         ///< is sent
  DepositContents found_;
  uint64_t offset_ = 0;  ///< bytes of `found_` that are sent already
};

/// Converts a request of this peer into a claim on a deposit of its user, or of a group. kDenied:
/// the request names a group in which the kernel does not list the peer.
[[nodiscard]] Result<DepositClaim> ClaimOf(const DepositAsk& ask, const Peer& peer);

}  // namespace cccl_cache::daemon
