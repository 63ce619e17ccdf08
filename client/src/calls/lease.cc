// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/lease.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <utility>

#include "base/wire.h"
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
                     std::string socket)
    : conversation_(std::move(conversation)), open_(std::move(open)), socket_(std::move(socket)) {
  int ends[2];
  const bool paired = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0;
  if (paired) {
    wake_ = VerifiedDescriptor(FileDescriptor(ends[0]));
    woken_ = VerifiedDescriptor(FileDescriptor(ends[1]));
  }
  // The thread blocks all signals, because the program's signal handlers must not run on it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // If there is no thread, no heartbeats are sent, and the daemon ends the lease after a time.
  has_thread_ = paired && pthread_create(&thread_, nullptr, RunThread, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

HeldLease::~HeldLease() { Abandon(); }

bool HeldLease::held() const { return !over_ && !ended_ && owner_.IsThis(); }

void* HeldLease::RunThread(void* self) {
  static_cast<HeldLease*>(self)->KeepAlive();
  return nullptr;
}

void HeldLease::KeepAlive() {
  Call* call = open_.call.get();
  open_.connection->Recheck();  // other code of the program may have closed the socket since the
                                // thread began
  while (!stop_ && !call->ended()) {
    const Deadline next = Deadline::After(conversation_->heartbeat());
    // woken_ becomes readable when wake_ is shut down. It is also readable if the program has
    // closed wake_. In that case it is not polled, because poll would always return at once.
    const auto wake = [this] { return wake_.Get() >= 0 ? woken_.Get() : -1; };
    while (!stop_ && !call->ended() && open_.connection->Turn(call, next, wake())) {
    }
    conversation_->SayHeartbeat();
  }
  if (call->ended()) ended_ = true;
}

void HeldLease::StopThread() {
  if (!std::exchange(has_thread_, false)) return;
  stop_ = true;
  // If the program has closed wake_, it can't be shut down. The thread then ends at its next
  // heartbeat.
  if (const int wake = wake_.Get(); wake >= 0) shutdown(wake, SHUT_RDWR);
  pthread_join(thread_, nullptr);
}

void HeldLease::Converse(const Deadline& deadline) {
  Call* call = open_.call.get();
  open_.connection->Recheck();
  while (!call->ended()) {
    if (!open_.connection->Turn(call, deadline)) call->End(CallEnd::kDeadline);
  }
  open_.connection->Finish(call);
}

Expected<Done> HeldLease::Publish(std::string_view contents, Deadline deadline) {
  if (!owner_.IsThis()) {
    return Error{CCCL_CACHE_LEASE_LOST,
                 "the lease is held by the process that forked this one: acquire it here"};
  }
  if (over_.exchange(true)) {
    return Error{CCCL_CACHE_LEASE_LOST, "the lease was published or abandoned before"};
  }
  StopThread();
  const bool said = !open_.call->ended();
  conversation_->SayPublication(contents);
  Converse(deadline);
  return Outcome(said);
}

Expected<Done> HeldLease::Outcome(bool said) const {
  switch (open_.call->end()) {
    case CallEnd::kAnswered:
      if (!open_.call->status().ok()) return open_.call->status().ToError();
      if (conversation_->published()) return Done{};
      [[fallthrough]];
    case CallEnd::kMalformed:
      return Error{CCCL_CACHE_PROTOCOL,
                   "cccl-cached at " + socket_ + " did not answer a publication as agreed"};
    case CallEnd::kDeadline:
      return Error{CCCL_CACHE_DEADLINE, "cccl-cached at " + socket_ +
                                            " did not take the publication in time: it is not "
                                            "known whether it is kept"};
    default:
      return Error{CCCL_CACHE_LEASE_LOST,
                   "the lease was lost: cccl-cached at " + socket_ + " ended or restarted, " +
                       (said ? "and it is not known whether the contents were kept"
                             : "and nothing was deposited") +
                       "; acquire it again"};
  }
}

void HeldLease::GiveUp(bool failed) {
  if (!owner_.IsThis() || over_.exchange(true)) return;
  StopThread();
  conversation_->SayAbandonment(failed);
  Converse(Deadline::After(kFarewell));
}

}  // namespace cccl_cache
