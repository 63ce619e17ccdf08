// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/limits/read_gate.h"
#include "daemon/service/transport/raw_call.h"

namespace cccl_cache::daemon {

/// Runs the events of one call one at a time, each without a lock. Thread-safe. Objects that post
/// events share it, because they may outlive the call.
class CallEvents {
 public:
  using Event = std::function<void()>;
  /// `settle` is called after the last pending event, with a lock held. It returns whether the call
  /// has ended. No event runs after that.
  explicit CallEvents(std::function<bool()> settle) : settle_(std::move(settle)) {}
  CallEvents(const CallEvents&) = delete;
  CallEvents& operator=(const CallEvents&) = delete;

  /// Runs the event before this returns. If another event is running, its thread runs this event
  /// later. Drops the event if the call has ended.
  void Post(Event event) EXCLUDES(mutex_);
  /// Returns whether an event is running on this thread, so that its code may act at once.
  [[nodiscard]] bool RunHere() const { return runner_ == std::this_thread::get_id(); }
  /// As Post, but waits for a running event. Only the server's thread may wait, so it handles all
  /// messages, even while other threads post many events.
  void Run(const Event& event) EXCLUDES(mutex_);
  /// Returns when no other thread uses the objects of `settle`. For use after the end of the call.
  void AwaitEnd() EXCLUDES(mutex_) { const MutexLock lock(mutex_); }

 private:
  void RunAll(const Event& first) REQUIRES(mutex_);

  const std::function<bool()> settle_;
  Mutex mutex_;
  CondVar idle_;
  bool running_ GUARDED_BY(mutex_) = false;
  std::atomic<std::thread::id> runner_;  ///< valid while `running_`
  bool ended_ GUARDED_BY(mutex_) = false;
  std::vector<Event> later_ GUARDED_BY(mutex_);
};

/// One call as a stream of messages in both directions. A derived class acts only in events, which
/// run one at a time and without a lock: messages arrive on the server's thread, and posted events
/// run on that thread or on their sender's. The class therefore needs no lock, but an event must
/// not wait. The call deletes itself when it is done, and releases its shares of the budget.
/// BlockingCall is the exception: it waits on its own thread.
class StreamCall : public RawCall, private GatedReader {
 public:
  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final;
  void OnCancel() final;
  void OnDone() final;

 protected:
  StreamCall(BuildBackend& backend, Account account, CallStream& stream);

  // Events.
  /// Called with the message that Read requested.
  virtual void OnMessage(grpc::ByteBuffer& message) = 0;
  /// Called after the caller's last message. An error, unless overridden.
  virtual void OnHalfClose();
  /// Called after a message was written, if the call has not ended.
  virtual void OnSpace() {}
  /// Called when the call ends with an error or its caller has left, so that its pending results
  /// are of no use. Called at most once, from within End.
  virtual void OnGone() {}

  /// Runs the first event. Called once, at the end of the constructor of a final class.
  void Begin(const CallEvents::Event& first) { events_->Run(first); }

  // The functions below may be called only in events.
  /// Takes this amount of the budget until the call is done. If there is no room, ends the call and
  /// returns false.
  [[nodiscard]] bool Hold(Resource resource, uint64_t amount = 1);
  /// Reads the next message, at this gate in turn with other calls. Does nothing during another
  /// read, or if no message can follow.
  void Read(ReadGate& gate) { ReadAt(&gate); }
  void Read() { ReadAt(nullptr); }
  /// Sends the message after the earlier messages. The shares are released when the message is
  /// written or the call is done. Does nothing after End.
  void Send(const grpc::ByteBuffer& message, Share bytes = {}, Share call = {});
  /// Sends the message as the last one, and counts its bytes. Ends the call with an error if there
  /// is no room for them.
  void SendLast(const grpc::ByteBuffer& message);
  /// Returns the number of unwritten messages.
  [[nodiscard]] size_t unsent() const { return unsent_.size(); }
  /// Ends the call after all messages are sent.
  void End();
  /// Ends the call without its unsent messages. Does nothing after another error.
  void End(const Error& error);
  void End(const grpc::Status& error);

  [[nodiscard]] bool ended() const { return end_.has_value(); }

  /// Any thread may post events, even after the call was deleted.
  [[nodiscard]] const std::shared_ptr<CallEvents>& events() const { return events_; }

 private:
  enum class Reading { kNot, kWaitsForTurn, kUnderWay };
  struct Outgoing {
    grpc::ByteBuffer message;
    Share bytes;
    Share call;
  };

  void StartReading() final;
  void TakeTurn();
  void GiveUp() final { context().TryCancel(); }
  void ReadAt(ReadGate* gate);
  [[nodiscard]] bool failed() const { return end_ && !end_->ok(); }
  /// Starts the next write or ends the call. Returns whether the call has ended.
  [[nodiscard]] bool Settle();

  BuildBackend& backend_;
  const Account account_;
  const std::shared_ptr<CallEvents> events_;
  std::vector<Share> held_;
  Reading reading_ = Reading::kNot;
  ReadGate* gate_ = nullptr;  ///< the gate of the last Read; may be null
  bool half_closed_ = false;
  grpc::ByteBuffer incoming_;
  std::list<Outgoing> unsent_;  ///< the first message is in progress if `writing_`
  bool writing_ = false;
  std::optional<grpc::Status> end_;  ///< the status with which the call ends
};

}  // namespace cccl_cache::daemon
