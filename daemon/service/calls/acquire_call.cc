// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/acquire_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/service/wire/acquire_messages.h"
#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
namespace {

Error CallerLeft() { return {ErrorCode::kCancelled, "the caller left, and with it its lease"}; }

/// The gid that stands for the groups of other user namespaces, as kOverflowUid does for their
/// users.
constexpr gid_t kOverflowGid = 65534;

}  // namespace

AcquireCall::AcquireCall(BuildBackend& backend, const Peer& peer, CallStream& stream)
    : RawCall(stream),
      backend_(backend),
      peer_(peer),
      link_(std::make_shared<Link>()),
      seat_(backend.deposits.NewSeat()) {
  link_->call = this;
  if (auto begun = Begin(); !begun) {
    reading_ = Reading::kNot;
    Fail(begun.error());
    return;
  }
  backend_.read_gate.Enter(peer_.account(), *this);
}

Status AcquireCall::Begin() {
  if (peer_.uid == kOverflowUid) {
    return Error{ErrorCode::kDenied,
                 "uid 65534 stands for many users, so nothing is deposited for it"};
  }
  auto call = backend_.budget.Take(peer_.account(), Resource::kCalls);
  if (!call) return call.error();
  call_ = std::move(*call);
  return Ok{};
}

void AcquireCall::StartReading() {
  // A copy: once the lock is free, the call may end and this object be deleted.
  const std::shared_ptr<Link> link = link_;
  ReadGate& gate = backend_.read_gate;
  const Account account = peer_.account();
  {
    const std::lock_guard lock(link->mutex);
    if (!end_) {
      reading_ = Reading::kUnderWay;
      StartRead(&message_);
      return;
    }
  }
  // Must come before the call may end.
  gate.Leave(account, *this);
  {
    const std::lock_guard lock(link->mutex);
    reading_ = Reading::kNot;
  }
  GoOn(link);
}

void AcquireCall::OnReadDone(bool ok) {
  const bool first = !asked_;
  if (first) backend_.read_gate.Leave(peer_.account(), *this);
  Status taken = CallerLeft();
  if (ok) taken = first ? TakeKey() : TakeWord();
  {
    const std::lock_guard lock(link_->mutex);
    reading_ = Reading::kNot;
    asked_ = true;
  }
  if (!taken) {
    Fail(taken.error());
  } else if (first) {
    backend_.deposits.Acquire(
        seat_, claim_, [link = link_](LeaseNews news) { ReceiveBytes(link, std::move(news)); });
  } else {
    GoOn(link_);
  }
}

Status AcquireCall::TakeKey() {
  const auto bytes = backend_.budget.Take(peer_.account(), Resource::kBytes, message_.Length());
  if (!bytes) return bytes.error();
  const auto decoded = DecodeAcquire(message_);
  message_.Clear();
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

Status AcquireCall::TakeWord() {
  auto decoded = DecodeAcquire(message_);
  message_.Clear();
  if (!decoded) return decoded.error();
  if (std::holds_alternative<DepositAsk>(*decoded)) {
    return Error{ErrorCode::kInvalidRequest, "an acquire has one key: make another call"};
  }
  if (std::holds_alternative<LeaseAbandonment>(*decoded)) {
    Abandon();
    return Ok{};
  }
  if (const auto* publication = std::get_if<LeasePublication>(&*decoded)) {
    return Publish(*publication);
  }
  // If the lease is lost, the call was ended, or is being ended, with the reason.
  static_cast<void>(backend_.deposits.Beat(seat_));
  const auto* contents = std::get_if<LeaseContents>(&*decoded);
  return contents == nullptr ? Status(Ok{}) : TakeContents(contents->bytes);
}

Status AcquireCall::TakeContents(const std::string& bytes) {
  if (bytes.size() > backend_.limits.source_bytes - contents_.size()) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("a deposit of more than {} bytes", backend_.limits.source_bytes)};
  }
  auto more = backend_.budget.Take(peer_.account(), Resource::kBytes, bytes.size());
  if (!more) return more.error();
  contents_share_.Merge(std::move(*more));
  contents_ += bytes;
  return Ok{};
}

Status AcquireCall::Publish(const LeasePublication& publication) {
  if (publication.size != contents_.size()) {
    return Error{ErrorCode::kInvalidRequest,
                 fmt::format("a publication of {} bytes, and {} were sent", publication.size,
                             contents_.size())};
  }
  contents_.shrink_to_fit();
  const DepositFound made{std::make_shared<const std::string>(std::move(contents_))};
  const auto published = backend_.deposits.Publish(seat_, publication.fence, claim_, made);
  if (const auto* error = std::get_if<Error>(&published)) return *error;
  if (const auto* lost = std::get_if<LeaseLost>(&published)) {
    Fail(*lost);
    return Ok{};
  }
  const std::lock_guard lock(link_->mutex);
  messages_.push_back(EncodePublished());
  holding_ = false;
  lease_.Release();
  answered_ = true;
  return Ok{};
}

void AcquireCall::Abandon() {
  // Must come before the caller is answered, so that its next acquire finds the lease free.
  backend_.deposits.Leave(seat_);
  const std::lock_guard lock(link_->mutex);
  holding_ = false;
  lease_.Release();
  answered_ = true;
}

void AcquireCall::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(link_->mutex);
    writing_ = false;
  }
  if (ok) {
    GoOn(link_);
  } else {
    Fail(CallerLeft());
  }
}

void AcquireCall::OnCancel() { Fail(CallerLeft()); }

template <typename Reason>
void AcquireCall::Fail(const Reason& reason) {
  const std::shared_ptr<Link> link = link_;
  {
    const std::lock_guard lock(link->mutex);
    End(reason);
  }
  GoOn(link);
}

void AcquireCall::ReceiveBytes(const std::shared_ptr<Link>& link, LeaseNews news) {
  {
    const std::lock_guard lock(link->mutex);
    AcquireCall* call = link->call;
    // If the news is a lease, the lease goes to the next waiter when this call is done.
    if (call == nullptr || call->end_) return;
    if (const auto* grant = std::get_if<LeaseGrant>(&news)) {
      call->Hold(*grant);
    } else if (const auto* found = std::get_if<DepositFound>(&news)) {
      call->HandOver(*found);
    } else if (const auto* lost = std::get_if<LeaseLost>(&news)) {
      call->End(*lost);
    } else {
      call->End(std::get<Error>(news));
    }
  }
  GoOn(link);
}

void AcquireCall::Hold(const LeaseGrant& grant) {
  auto lease = backend_.budget.Take(peer_.account(), Resource::kLeases);
  if (!lease) {
    End(lease.error());
    return;
  }
  lease_ = std::move(*lease);
  messages_.push_back(EncodeLease(grant.fence, backend_.deposits.options().heartbeat, claim_.key));
  holding_ = true;
}

void AcquireCall::HandOver(const DepositFound& found) {
  auto counted = backend_.deposit_readers.Add(peer_.account(), found.contents);
  if (!counted) {
    End(counted.error());
    return;
  }
  counted_ = *std::move(counted);
  messages_.push_back(EncodeFound(found.contents->size(), claim_.key));
  found_ = found.contents;
  answered_ = true;
}

void AcquireCall::End(const Error& error) {
  if (end_) return;
  if (error.code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
  end_ = ToGrpcStatus(error, context());
}

void AcquireCall::End(const LeaseLost& lost) {
  if (end_) return;
  context().AddTrailingMetadata("cccl-error", "lease-lost");
  end_ = grpc::Status(grpc::StatusCode::ABORTED, lost.why);
}

void AcquireCall::GoOn(const std::shared_ptr<Link>& link) {
  // A copy: the call that holds the link may be deleted.
  const std::shared_ptr<Link> kept = link;
  const std::lock_guard lock(kept->mutex);
  if (kept->call != nullptr) kept->call->Advance();
}

void AcquireCall::Advance() {
  if (over_) return;
  if (!end_ && !writing_) WriteNext();
  if (end_) {
    FinishIfIdle();
  } else if (holding_ && reading_ == Reading::kNot) {
    reading_ = Reading::kUnderWay;
    StartRead(&message_);
  }
}

void AcquireCall::WriteNext() {
  if (!messages_.empty()) {
    written_ = std::move(messages_.front());
    messages_.pop_front();
  } else if (found_ != nullptr && offset_ < found_->size()) {
    const auto bytes = std::string_view(*found_).substr(offset_, kAcquireChunkBytes);
    written_ = EncodeContents(found_, bytes);
    offset_ += bytes.size();
  } else {
    if (answered_) end_ = grpc::Status::OK;
    return;
  }
  writing_ = true;
  StartWrite(&written_);
}

void AcquireCall::FinishIfIdle() {
  if (reading_ == Reading::kWaitsForTurn && backend_.read_gate.Withdraw(peer_.account(), *this)) {
    reading_ = Reading::kNot;
  }
  if (reading_ == Reading::kWaitsForTurn || writing_) return;
  over_ = true;
  Finish(*end_);
}

void AcquireCall::OnDone() {
  backend_.deposits.Leave(seat_);
  // A copy: the mutex must outlive this object.
  const std::shared_ptr<Link> link = link_;
  {
    const std::lock_guard lock(link->mutex);
    link->call = nullptr;
  }
  delete this;
}

Result<DepositClaim> ClaimOf(const DepositAsk& ask, const Peer& peer) {
  using Kind = DepositScope::Kind;
  DepositClaim claim;
  claim.uid = peer.uid;
  claim.counted_as = peer.counted_as;
  claim.scope = {Kind::kUser, peer.uid};
  if (ask.gid) {
    const gid_t gid = *ask.gid;
    const bool member = gid == peer.gid || std::ranges::binary_search(peer.groups, gid);
    // Checked before any look-up, so the answer does not tell which deposits exist.
    if (!member || gid == kOverflowGid) {
      return Error{ErrorCode::kDenied,
                   fmt::format("user {} was not in group {} when it connected", peer.uid, gid)};
    }
    claim.scope = {Kind::kGroup, gid};
  }
  claim.name_space = ask.name_space;
  claim.wait = ask.wait;
  claim.fields = DepositFieldsDigest(ask.fields);
  claim.key = DepositKey(claim.scope, DepositIdentity(claim.name_space, claim.fields));
  return claim;
}

}  // namespace cccl_cache::daemon
