// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/acquire_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/service/wire/acquire_messages.h"

namespace cccl_cache::daemon {
namespace {

Error LeaseLeft() { return {ErrorCode::kCancelled, "the caller left, and with it its lease"}; }

}  // namespace

AcquireCall::AcquireCall(BuildBackend& backend, const Peer& peer, CallStream& stream)
    : StreamCall(backend, peer.account(), stream),
      backend_(backend),
      peer_(peer),
      seat_(backend.deposits.NewSeat()) {
  Begin([this] {
    if (peer_.uid == kOverflowUid) {
      return End(Error{ErrorCode::kDenied,
                       "uid 65534 stands for many users, so nothing is deposited for it"});
    }
    if (Hold(Resource::kCalls)) Read(backend_.read_gate);
  });
}

AcquireCall::~AcquireCall() {
  OnGone();
  backend_.deposits.Leave(seat_);
}

void AcquireCall::OnGone() { backend_.budget.Withdraw(peer_.account(), Resource::kLeases, seat_); }

void AcquireCall::OnMessage(grpc::ByteBuffer& message) {
  const bool first = !std::exchange(asked_, true);
  const Status taken = first ? TakeKey(message) : TakeWord(message);
  if (!taken) return End(taken.error());
  if (first) {
    backend_.deposits.Acquire(seat_, claim_, [this, events = events()](LeaseNews news) {
      events->Post([this, news = std::move(news)] { TakeNews(news); });
    });
  } else {
    Read();
  }
}

void AcquireCall::OnHalfClose() { End(LeaseLeft()); }

Status AcquireCall::TakeKey(grpc::ByteBuffer& message) {
  const auto bytes = backend_.budget.Take(peer_.account(), Resource::kBytes, message.Length());
  if (!bytes) return bytes.error();
  const auto decoded = DecodeAcquire(message);
  message.Clear();
  if (!decoded) return decoded.error();
  const auto* ask = std::get_if<DepositAsk>(&*decoded);
  if (ask == nullptr) {
    return Error{ErrorCode::kInvalidRequest, "the first message of an acquire must hold the key"};
  }
  auto claim = ClaimOf(*ask, peer_);
  if (!claim) return claim.error();
  claim_ = *std::move(claim);
  return Ok{};
}

Status AcquireCall::TakeWord(grpc::ByteBuffer& message) {
  auto decoded = DecodeAcquire(message);
  message.Clear();
  if (!decoded) return decoded.error();
  if (std::holds_alternative<DepositAsk>(*decoded)) {
    return Error{ErrorCode::kInvalidRequest, "an acquire has one key: make another call"};
  }
  if (const auto* abandonment = std::get_if<LeaseAbandonment>(&*decoded)) {
    Abandon(abandonment->failed);
    return Ok{};
  }
  if (const auto* publication = std::get_if<LeasePublication>(&*decoded)) {
    return Publish(*publication);
  }
  // The result is not needed: if the lease is lost, the call has ended or will end with that
  // reason.
  static_cast<void>(backend_.deposits.Beat(seat_));
  const auto* contents = std::get_if<LeaseContents>(&*decoded);
  return contents == nullptr ? Status(Ok{}) : TakeContents(contents->bytes);
}

Status AcquireCall::TakeContents(const std::string& bytes) {
  if (bytes.size() > backend_.limits.source_bytes - contents_.size()) {
    return DoesNotFit({ErrorCode::kInvalidRequest, fmt::format("a deposit of more than {} bytes",
                                                               backend_.limits.source_bytes)});
  }
  auto more = backend_.budget.Take(peer_.account(), Resource::kBytes, bytes.size());
  if (!more) return DoesNotFit(more.error());
  contents_share_.Merge(std::move(*more));
  contents_ += bytes;
  return Ok{};
}

Error AcquireCall::DoesNotFit(Error error) {
  backend_.deposits.Fail(seat_);
  return error;
}

Status AcquireCall::Publish(const LeasePublication& publication) {
  if (publication.size != contents_.size()) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("a publication of {} bytes, and {} were sent", publication.size,
                             contents_.size())};
  }
  contents_.shrink_to_fit();
  const auto published = backend_.deposits.Publish(
      seat_, publication.fence, claim_, std::make_shared<const std::string>(std::move(contents_)));
  if (const auto* error = std::get_if<Error>(&published)) return DoesNotFit(*error);
  if (const auto* lost = std::get_if<LeaseLost>(&published)) {
    EndLost(*lost);
    return Ok{};
  }
  lease_.Release();
  Send(EncodePublished());
  End();
  return Ok{};
}

void AcquireCall::Abandon(bool failed) {
  // The lease is released before the answer is sent, so that the caller's next Acquire finds it
  // free.
  failed ? backend_.deposits.Fail(seat_) : backend_.deposits.Leave(seat_);
  lease_.Release();
  End();
}

void AcquireCall::TakeNews(const LeaseNews& news) {
  // If the call has ended, a lease that is granted now goes to the next waiter when the call is
  // destroyed.
  if (ended()) return;
  if (const auto* grant = std::get_if<LeaseGrant>(&news)) {
    TakeLease(*grant);
  } else if (const auto* found = std::get_if<DepositFound>(&news)) {
    HandOver(*found);
  } else if (const auto* lost = std::get_if<LeaseLost>(&news)) {
    EndLost(*lost);
  } else if (std::holds_alternative<LeaseReleased>(news)) {
    Send(EncodeReleased(claim_.key));
    End();
  } else {
    End(std::get<Error>(news));
  }
}

void AcquireCall::TakeLease(const LeaseGrant& grant) {
  if (auto lease = backend_.budget.Take(peer_.account(), Resource::kLeases)) {
    return HoldLease(grant, *std::move(lease));
  }
  if (claim_.released_at_limit) {
    backend_.deposits.Leave(seat_);
    Send(EncodeReleased(claim_.key));
    return End();
  }
  backend_.deposits.Postpone(seat_);
  backend_.budget.Await(peer_.account(), Resource::kLeases, seat_,
                        [this, events = events(), grant](Share given) {
                          auto lease = std::make_shared<Share>(std::move(given));
                          events->Post([this, grant, lease] {
                            // If the call has ended or its lease is lost, the caller has an answer
                            // or gets one now.
                            if (!ended() && backend_.deposits.Beat(seat_))
                              HoldLease(grant, std::move(*lease));
                          });
                        });
}

void AcquireCall::HoldLease(const LeaseGrant& grant, Share lease) {
  lease_ = std::move(lease);
  Send(EncodeLease(grant.fence, backend_.deposits.options().limits.heartbeat, claim_.key));
  Read();
}

void AcquireCall::HandOver(const DepositFound& found) {
  auto counted = backend_.deposit_readers.Add(peer_.account(), found.contents);
  if (!counted) return End(counted.error());
  counted_ = *std::move(counted);
  found_ = found.contents;
  Send(EncodeFound(found_->size(), claim_.key));
  if (found_->empty()) End();
}

void AcquireCall::OnSpace() {
  if (found_ == nullptr) return;
  const auto bytes = std::string_view(*found_).substr(offset_, kAcquireChunkBytes);
  Send(EncodeContents(found_, bytes));
  offset_ += bytes.size();
  if (offset_ == found_->size()) End();
}

void AcquireCall::EndLost(const LeaseLost& lost) {
  context().AddTrailingMetadata("cccl-error", "lease-lost");
  End(grpc::Status(grpc::StatusCode::ABORTED, lost.why));
}

Result<DepositClaim> ClaimOf(const DepositAsk& ask, const Peer& peer) {
  using Kind = DepositScope::Kind;
  DepositClaim claim;
  claim.uid = peer.uid;
  claim.counted_as = peer.counted_as;
  claim.scope = {Kind::kUser, peer.uid};
  if (ask.gid && IsContainerUser(peer.uid)) {
    return Error{ErrorCode::kDenied,
                 "at a container socket there are no groups to share deposits with, because a "
                 "group's number says nothing there: leave the group out"};
  }
  if (ask.gid) {
    const gid_t gid = *ask.gid;
    const bool member = gid == peer.gid || std::ranges::binary_search(peer.groups, gid);
    // Membership is checked before any look-up, so that the answer does not show which deposits
    // exist.
    if (!member || gid == kOverflowGid) {
      return Error{ErrorCode::kDenied,
                   fmt::format("user {} was not in group {} when it connected", peer.uid, gid)};
    }
    claim.scope = {Kind::kGroup, gid};
  }
  claim.name_space = ask.name_space;
  claim.wait = ask.wait;
  claim.accepts_release = ask.accepts_release;
  claim.released_at_limit = ask.released_at_limit;
  claim.replaces = ask.replaces;
  claim.waits_only = ask.waits_only;
  claim.fields = DepositFieldsDigest(ask.fields);
  claim.key = DepositKey(claim.scope, DepositIdentity(claim.name_space, claim.fields));
  return claim;
}

}  // namespace cccl_cache::daemon
