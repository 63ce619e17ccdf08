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

/// Runs the events of one call, one at a time and without a lock. Thread-safe. The objects that
/// post events own it together with the call, because they may outlive the call.
class CallEvents {
 public:
  using Event = std::function<void()>;
  /// `settle` is called with a lock held, whenever no more events are pending. It returns whether
  /// the call has ended. After that no event is run.
  explicit CallEvents(std::function<bool()> settle) : settle_(std::move(settle)) {}
  CallEvents(const CallEvents&) = delete;
  CallEvents& operator=(const CallEvents&) = delete;

  /// Runs the event, and then returns. If another event is running, the thread of that event runs
  /// this one later. If the call has ended, the event is dropped.
  void Post(Event event) EXCLUDES(mutex_);
  /// Returns whether the calling code is part of an event of this call. Such code may act at once
  /// instead of posting an event.
  [[nodiscard]] bool RunHere() const { return runner_ == std::this_thread::get_id(); }
  /// As Post, but if another event is running, waits for its end. Only the server's thread may
  /// wait. So the server's thread handles the messages itself, even while other threads post many
  /// events.
  void Run(const Event& event) EXCLUDES(mutex_);
  /// Returns when no thread is inside `settle` any more. Must be called after the call has ended.
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
/// run one at a time and without a lock. Messages arrive on the server's thread. A posted event
/// runs on that thread or on the thread that posted it. So a derived class needs no lock, but an
/// event must not wait. (BlockingCall, which waits, has its own thread.) The call deletes itself
/// when it is done, and releases its shares of the budget.
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
  /// Called after the caller's last message. Ends the call with an error, unless a class overrides
  /// it.
  virtual void OnHalfClose();
  /// Called after a message was written, if the call has not ended.
  virtual void OnSpace() {}
  /// Called when the call ends with an error, or when the caller has left. Pending results are then
  /// of no use. Called at most once, from within End().
  virtual void OnGone() {}

  /// Runs the first event. Called once, at the end of the constructor of a final class.
  void Begin(const CallEvents::Event& first) { events_->Run(first); }

  // The functions below may be called only in events.
  /// Takes this amount of the budget until the call is done. If there is no room, ends the call and
  /// returns false.
  [[nodiscard]] bool Hold(Resource resource, uint64_t amount = 1);
  /// Reads the next message when this call has its turn at the gate. Does nothing during another
  /// read, or if no message can follow.
  void Read(ReadGate& gate) { ReadAt(&gate); }
  void Read() { ReadAt(nullptr); }
  /// Sends the message after the earlier messages. The shares are released when the message is
  /// written or the call is done. Does nothing after End.
  void Send(const grpc::ByteBuffer& message, Share bytes = {}, Share call = {});
  /// Sends this message as the last one, and counts its bytes in the budget. If there is no room
  /// for the bytes, ends the call with an error.
  void SendLast(const grpc::ByteBuffer& message);
  /// Returns the number of unwritten messages.
  [[nodiscard]] size_t unsent() const { return unsent_.size(); }
  /// Ends the call after all messages are sent.
  void End();
  /// Ends the call with an error, and drops its unsent messages. Does nothing if the call has
  /// already ended with an error.
  void End(const Error& error);
  void End(const grpc::Status& error);

  [[nodiscard]] bool ended() const { return end_.has_value(); }

  /// Returns the object with which any thread may post events, even after the call was deleted.
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
  ReadGate* gate_ = nullptr;  ///< the gate of the last read; null if that used no gate
  bool half_closed_ = false;
  grpc::ByteBuffer incoming_;
  std::list<Outgoing> unsent_;  ///< the first message is being written if `writing_`
  bool writing_ = false;
  std::optional<grpc::Status> end_;  ///< the status with which the call ends
};

}  // namespace cccl_cache::daemon
