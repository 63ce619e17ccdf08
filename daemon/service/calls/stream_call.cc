// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/stream_call.h"

#include <iterator>
#include <utility>

#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
namespace {

Error CallerLeft() { return {ErrorCode::kCancelled, "the caller left"}; }

}  // namespace

void CallEvents::Post(Event event) {
  const MutexLock lock(mutex_);
  if (running_) {
    later_.push_back(std::move(event));
  } else {
    RunAll(event);
  }
}

void CallEvents::Run(const Event& event) {
  const MutexLock lock(mutex_);
  idle_.Wait(mutex_, [this]() REQUIRES(mutex_) { return !running_; });
  RunAll(event);
}

void CallEvents::RunAll(const Event& first) {
  if (ended_) return;
  running_ = true;
  runner_ = std::this_thread::get_id();
  mutex_.unlock();
  first();
  mutex_.lock();
  while (!later_.empty()) {
    std::vector<Event> events;
    events.swap(later_);
    mutex_.unlock();
    for (const Event& event : events) event();
    events.clear();
    mutex_.lock();
  }
  ended_ = settle_();
  runner_ = std::thread::id();
  running_ = false;
  idle_.NotifyAll();
}

StreamCall::StreamCall(BuildBackend& backend, Account account, CallStream& stream)
    : RawCall(stream),
      backend_(backend),
      account_(account),
      events_(std::make_shared<CallEvents>([this] { return Settle(); })) {}

void StreamCall::OnReadDone(bool ok) {
  // The turn is given up before the event runs, because other readers wait for the turn.
  if (gate_ != nullptr) gate_->Leave(account_, *this);
  events_->Run([this, ok] {
    reading_ = Reading::kNot;
    grpc::ByteBuffer message;
    message.Swap(&incoming_);
    half_closed_ = !ok;
    if (end_) return;
    if (ok) {
      OnMessage(message);
    } else {
      OnHalfClose();
    }
  });
}

void StreamCall::OnWriteDone(bool ok) {
  events_->Run([this, ok] {
    writing_ = false;
    unsent_.pop_front();
    if (!ok) {
      End(CallerLeft());
    } else if (!end_) {
      OnSpace();
    }
  });
}

void StreamCall::OnCancel() {
  events_->Run([this] { End(CallerLeft()); });
}

void StreamCall::OnDone() {
  events_->AwaitEnd();
  delete this;
}

void StreamCall::OnHalfClose() {
  End(Error{ErrorCode::kCancelled, "the call ended before its request came"});
}

bool StreamCall::Hold(Resource resource, uint64_t amount) {
  auto share = backend_.budget.Take(account_, resource, amount);
  if (share) {
    held_.push_back(*std::move(share));
  } else {
    End(share.error());
  }
  return share.ok();
}

void StreamCall::ReadAt(ReadGate* gate) {
  if (end_ || half_closed_ || reading_ != Reading::kNot) return;
  gate_ = gate;
  if (gate == nullptr) {
    reading_ = Reading::kUnderWay;
    StartRead(&incoming_);
  } else {
    reading_ = Reading::kWaitsForTurn;
    gate->Enter(account_, *this);
  }
}

void StreamCall::StartReading() {
  // A copy, because the call may end and be deleted after the event.
  const std::shared_ptr<CallEvents> events = events_;
  if (events->RunHere()) return TakeTurn();
  events->Post([this] { TakeTurn(); });
}

void StreamCall::TakeTurn() {
  if (end_) {
    gate_->Leave(account_, *this);
    reading_ = Reading::kNot;
  } else {
    reading_ = Reading::kUnderWay;
    StartRead(&incoming_);
  }
}

void StreamCall::Send(const grpc::ByteBuffer& message, Share bytes, Share call) {
  if (end_) return;
  Outgoing& last = unsent_.emplace_back();
  last.message = message;
  last.bytes = std::move(bytes);
  last.call = std::move(call);
}

void StreamCall::SendLast(const grpc::ByteBuffer& message) {
  auto bytes = backend_.budget.Take(account_, Resource::kBytes, message.Length());
  if (!bytes) return End(bytes.error());
  Send(message, *std::move(bytes));
  End();
}

void StreamCall::End() {
  if (!end_) end_ = grpc::Status::OK;
}

void StreamCall::End(const Error& error) {
  if (failed()) return;
  if (error.code == ErrorCode::kOverloaded) backend_.statistics.Add(Counter::kRefused);
  End(ToGrpcStatus(error, context()));
}

void StreamCall::End(const grpc::Status& error) {
  if (failed()) return;
  end_ = error;
  unsent_.erase(writing_ ? std::next(unsent_.begin()) : unsent_.begin(), unsent_.end());
  OnGone();
}

bool StreamCall::Settle() {
  if (end_ && reading_ == Reading::kWaitsForTurn && gate_->Withdraw(account_, *this)) {
    reading_ = Reading::kNot;
  }
  if (writing_) return false;
  // While the call waits for its turn at the gate, it can't end yet: the gate still refers to it.
  const bool ends = end_ && reading_ != Reading::kWaitsForTurn;
  if (unsent_.empty()) {
    if (ends) Finish(*end_);
    return ends;
  }
  const grpc::ByteBuffer* next = &unsent_.front().message;
  if (ends && unsent_.size() == 1) {
    StartWriteAndFinish(next, *end_);
    return true;
  }
  writing_ = true;
  StartWrite(next);
  return false;
}

}  // namespace cccl_cache::daemon
