// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/leases/lease.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/wire.h"
#include "client/src/transport/address.h"
#include "client/src/wire/messages.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

// Maximum size of a deposit in bytes. If the daemon announces more, it violates the protocol.
constexpr uint64_t kMaxDeposit = uint64_t{2} << 30;
// Maximum number of bytes that are reserved before the contents arrive.
constexpr uint64_t kReserved = uint64_t{16} << 20;

/// Maximum time for telling the daemon that the lease is abandoned. If that fails, the daemon
/// notices that the connection is closed.
constexpr std::chrono::seconds kFarewell{1};

}  // namespace

bool DepositConversation::Take(Message message) {
  using Field = fields::AcquireReply;
  ProtoReader reader(message.View());
  while (const uint32_t number = reader.Next()) {
    bool sound = true;
    if (number == Field::kFound) sound = TakeFound(reader.View());
    if (number == Field::kContents) sound = TakeContents(reader.View());
    if (number == Field::kLease) sound = TakeLease(reader.View());
    if (number == Field::kReleased) sound = TakeRelease(reader.View());
    if (number == Field::kPublished) sound = granted_ && !std::exchange(published_, true);
    if (!sound) return false;
  }
  return reader.ok();
}

bool DepositConversation::TakeFound(std::string_view found) {
  if (granted_ || released_ || std::exchange(announced_, true)) return false;
  ProtoReader reader(found);
  while (const uint32_t number = reader.Next()) {
    if (number == fields::DepositFound::kSize) size_ = reader.Number();
    if (number == fields::DepositFound::kKey) key_ = reader.View();
  }
  if (!reader.ok() || size_ > kMaxDeposit) return false;
  contents_.reserve(std::min(size_, kReserved));
  return true;
}

bool DepositConversation::TakeContents(std::string_view contents) {
  if (!announced_ || contents.size() > size_ - contents_.size()) return false;
  contents_ += contents;
  return true;
}

bool DepositConversation::TakeLease(std::string_view lease) {
  if (announced_ || released_ || std::exchange(granted_, true)) return false;
  using Field = fields::Lease;
  ProtoReader reader(lease);
  while (const uint32_t number = reader.Next()) {
    if (number == Field::kFence) fence_ = reader.Number();
    if (number == Field::kHeartbeatMs) heartbeat_ = std::chrono::milliseconds(reader.Number());
    if (number == Field::kKey) key_ = reader.View();
  }
  heartbeat_ = std::clamp<std::chrono::milliseconds>(heartbeat_, std::chrono::milliseconds(1),
                                                     std::chrono::hours(1));
  return reader.ok();
}

bool DepositConversation::TakeRelease(std::string_view release) {
  if (announced_ || granted_ || std::exchange(released_, true)) return false;
  ProtoReader reader(release);
  while (const uint32_t number = reader.Next()) {
    if (number == fields::LeaseReleased::kKey) key_ = reader.View();
  }
  return reader.ok();
}

void DepositConversation::SayPublication(std::string_view contents) {
  rest_ = contents;
  published_size_ = contents.size();
  publication_due_ = true;
}

const ByteChain* DepositConversation::Next() {
  message_.Clear();
  using Field = fields::AcquireRequest;
  ProtoWriter request;
  if (!rest_.empty()) {
    const std::string_view piece = rest_.substr(0, kMaxPiece);
    rest_.remove_prefix(piece.size());
    AppendBytesMessage(Field::kContents, piece, &message_);
    return &message_;
  }
  if (std::exchange(publication_due_, false)) {
    using Publication = fields::LeasePublication;
    request.Message(Field::kPublication, ProtoWriter()
                                             .Number(Publication::kFence, fence_)
                                             .Number(Publication::kSize, published_size_)
                                             .bytes());
  } else if (std::exchange(abandonment_due_, false)) {
    request.Message(
        Field::kAbandonment,
        ProtoWriter().Number(fields::LeaseAbandonment::kFailed, failed_ ? 1 : 0).bytes());
  } else if (std::exchange(heartbeat_due_, false)) {
    request.Message(Field::kHeartbeat, {});
  } else {
    return nullptr;
  }
  AppendMessage(request.bytes(), &message_);
  return &message_;
}

HeldLease::HeldLease(OpenCall open, std::unique_ptr<DepositConversation> conversation,
                     std::string socket, std::optional<std::chrono::milliseconds> hold)
    : conversation_(std::move(conversation)),
      expiry_(hold ? std::optional(Deadline::After(*hold)) : std::nullopt),
      held_(std::move(open), NextBeat(), [this] { return Beat(); }),
      socket_(std::move(socket)) {}

HeldLease::~HeldLease() { Abandon(); }

bool HeldLease::held() const { return state_ == State::kHeld && held_.alive(); }

std::chrono::milliseconds HeldLease::Beat() {
  if (!expiry_ || !expiry_->Passed()) {
    conversation_->SayHeartbeat();
  } else if (End(State::kExpired)) {
    conversation_->SayAbandonment(/*failed=*/true);
  }
  return NextBeat();
}

std::chrono::milliseconds HeldLease::NextBeat() const {
  const std::chrono::milliseconds interval = conversation_->heartbeat();
  return expiry_ && !expiry_->Passed() ? std::min(interval, expiry_->Remaining()) : interval;
}

bool HeldLease::End(State state) {
  State held = State::kHeld;
  return state_.compare_exchange_strong(held, state);
}

void HeldLease::Converse(const Deadline& deadline) {
  Call* call = &held_.call();
  Connection& connection = held_.connection();
  connection.Recheck();
  connection.Expect(deadline.Remaining());
  while (!call->ended()) {
    if (!connection.TurnOrDoubt(call, deadline)) call->End(CallEnd::kDeadline);
  }
  connection.Finish(call);
}

Expected<Done> HeldLease::Publish(std::string_view contents, Deadline deadline) {
  if (!held_.owned()) {
    return Error{CCCL_CACHE_LEASE_LOST,
                 "the lease is held by the process that forked this one: acquire it here"};
  }
  if (!End(State::kOver)) {
    return Error{CCCL_CACHE_LEASE_LOST, "the lease was published or abandoned before"};
  }
  held_.StopThread();
  const bool said = !held_.call().ended();
  conversation_->SayPublication(contents);
  Converse(deadline);
  return Outcome(said);
}

Expected<Done> HeldLease::Outcome(bool said) const {
  switch (held_.call().end()) {
    case CallEnd::kAnswered:
      if (!held_.call().status().ok()) return held_.call().status().ToError();
      if (conversation_->published()) return Done{};
      [[fallthrough]];
    case CallEnd::kMalformed:
      return Error{CCCL_CACHE_PROTOCOL,
                   "cccl-cached at " + socket_ + " did not answer a publication as agreed"};
    case CallEnd::kDeadline:
      return Error{CCCL_CACHE_DEADLINE, "cccl-cached at " + socket_ +
                                            " did not take the publication in time: it is not "
                                            "known whether it is kept"};
    case CallEnd::kSilent: {
      Error error = DaemonSilent(socket_);
      error.message += "; it is not known whether the publication is kept";
      return error;
    }
    default:
      return Error{CCCL_CACHE_LEASE_LOST,
                   "the lease was lost: cccl-cached at " + socket_ + " ended or restarted, " +
                       (said ? "and it is not known whether the contents were kept"
                             : "and nothing was deposited") +
                       "; acquire it again"};
  }
}

void HeldLease::GiveUp(bool failed) {
  if (!held_.owned() || !End(State::kOver)) return;
  held_.StopThread();
  conversation_->SayAbandonment(failed);
  Converse(Deadline::After(kFarewell));
}

}  // namespace cccl_cache
