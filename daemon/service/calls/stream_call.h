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

/// Runs the events of one call one at a time, each without a lock. Thread-safe. Shared by the
/// objects that post events, because they may outlive the call.
class CallEvents {
 public:
  using Event = std::function<void()>;
  /// `settle` is called after the last event that is there, with a lock held. It returns whether
  /// the call has ended: no event runs from then on.
  explicit CallEvents(std::function<bool()> settle) : settle_(std::move(settle)) {}
  CallEvents(const CallEvents&) = delete;
  CallEvents& operator=(const CallEvents&) = delete;

  /// Runs the event before this returns. If another event runs, its thread runs this one later.
  /// Drops the event if the call has ended.
  void Post(Event event) EXCLUDES(mutex_);
  /// Returns whether an event runs on this thread now, so that its code may act at once.
  [[nodiscard]] bool RunHere() const { return runner_ == std::this_thread::get_id(); }
  /// The same, but waits for a running event instead. So only the server's thread, which may wait,
  /// handles messages, however many come while other threads post events.
  void Run(const Event& event) EXCLUDES(mutex_);
  /// Returns when no other thread uses what `settle` refers to. To be called after the call's end.
  void AwaitEnd() EXCLUDES(mutex_) { const MutexLock lock(mutex_); }

 private:
  void RunAll(const Event& first) REQUIRES(mutex_);

  const std::function<bool()> settle_;
  Mutex mutex_;
  CondVar idle_;
  bool running_ GUARDED_BY(mutex_) = false;
  std::atomic<std::thread::id> runner_;  ///< while `running_`
  bool ended_ GUARDED_BY(mutex_) = false;
  std::vector<Event> later_ GUARDED_BY(mutex_);
};

/// One call as a stream of messages in both directions. A derived class acts in events alone, which
/// run one at a time and without a lock: messages arrive on the server's thread, posted events run
/// on it or on their sender's. So the class needs no lock, but an event must not wait. Deletes
/// itself when the call is done, and gives back what it holds of the budget. Only BlockingCall is
/// apart: it waits on a thread of its own.
class StreamCall : public RawCall, private GatedReader {
 public:
  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final;
  void OnCancel() final;
  void OnDone() final;

 protected:
  StreamCall(BuildBackend& backend, Account account, CallStream& stream);

  // Events.
  /// The message that Read asked for.
  virtual void OnMessage(grpc::ByteBuffer& message) = 0;
  /// The caller has sent its last message. Unless overridden, this is an error.
  virtual void OnHalfClose();
  /// A message was written, and the call has not ended.
  virtual void OnSpace() {}
  /// The call ends with an error, or because its caller left, so what it waits for is of no use.
  /// Comes at most once, from within End.
  virtual void OnGone() {}

  /// Runs the first event. To be called once, at the end of the constructor of a final class.
  void Begin(const CallEvents::Event& first) { events_->Run(first); }

  // For events alone.
  /// Takes this much of the budget until the call is done. If there is no room, ends the call and
  /// returns false.
  [[nodiscard]] bool Hold(Resource resource, uint64_t amount = 1);
  /// Reads the next message, at this gate in turn with other calls. Does nothing if a message is
  /// being read already, or none can follow.
  void Read(ReadGate& gate) { ReadAt(&gate); }
  void Read() { ReadAt(nullptr); }
  /// Sends the message after those before it. The shares are released when it is written, or when
  /// the call is done. Does nothing after End.
  void Send(const grpc::ByteBuffer& message, Share bytes = {}, Share call = {});
  /// Sends the message, whose bytes are counted, as the last one. Ends the call with an error if
  /// there is no room for them.
  void SendLast(const grpc::ByteBuffer& message);
  /// Returns the number of messages that are not written yet.
  [[nodiscard]] size_t unsent() const { return unsent_.size(); }
  /// Ends the call when all messages are sent.
  void End();
  /// Ends the call without sending what is unsent. Does nothing after another error.
  void End(const Error& error);
  void End(const grpc::Status& error);

  [[nodiscard]] bool ended() const { return end_.has_value(); }

  /// Any thread may post events, also after the call is gone.
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
  /// Starts the next write or ends the call. Returns whether it has ended.
  [[nodiscard]] bool Settle();

  BuildBackend& backend_;
  const Account account_;
  const std::shared_ptr<CallEvents> events_;
  std::vector<Share> held_;
  Reading reading_ = Reading::kNot;
  ReadGate* gate_ = nullptr;  ///< the gate of the last Read; may be null
  bool half_closed_ = false;
  grpc::ByteBuffer incoming_;
  std::list<Outgoing> unsent_;  ///< the first one is being written if `writing_`
  bool writing_ = false;
  std::optional<grpc::Status> end_;  ///< the status that the call will end with
};

}  // namespace cccl_cache::daemon
