// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <functional>
#include <string>
#include <unordered_map>

namespace cccl_cache::daemon {

class RawCall;

/// What gRPC's queue hands back when an operation is done.
class Completion {
 public:
  virtual void Complete(bool ok) = 0;

 protected:
  ~Completion() = default;
};

/// One call on gRPC's side: its context, its messages, and how many of its operations are under
/// way. Tells the call that is attached what became of them. Completions come from one thread.
class CallStream {
 public:
  /// Called once, as the last thing that happens to the stream: it may be destroyed then.
  using Over = std::function<void(CallStream&)>;
  explicit CallStream(Over over);
  CallStream(const CallStream&) = delete;
  CallStream& operator=(const CallStream&) = delete;

  /// Waits for a call of any method. `arrived` completes with false if the server ends first: then
  /// there is no call, and `over` is not called.
  void Await(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue,
             Completion& arrived);
  /// Before anything is started.
  void Attach(RawCall& call) { call_ = &call; }

  [[nodiscard]] const std::string& method() const { return context_.method(); }
  [[nodiscard]] std::string peer() const { return context_.peer(); }
  [[nodiscard]] grpc::ServerContextBase& context() { return context_; }

  // As RawCall says.
  void StartRead(grpc::ByteBuffer* message);
  void StartWrite(const grpc::ByteBuffer& message);
  void StartWriteAndFinish(const grpc::ByteBuffer& message, const grpc::Status& status);
  void Finish(const grpc::Status& status);

 private:
  /// One operation that may be under way.
  class Operation final : public Completion {
   public:
    using Reaction = void (CallStream::*)(bool ok);
    Operation(CallStream& stream, Reaction reaction) : stream_(stream), reaction_(reaction) {}
    void Complete(bool ok) override {
      (stream_.*reaction_)(ok);
      stream_.EndOperation();
    }

   private:
    CallStream& stream_;
    const Reaction reaction_;
  };

  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnLeft(bool ok);
  void EndOperation();

  const Over over_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter messages_{&context_};
  Operation read_{*this, &CallStream::OnRead};
  Operation written_{*this, &CallStream::OnWritten};
  Operation finished_{*this, &CallStream::OnFinished};
  Operation left_{*this, &CallStream::OnLeft};
  RawCall* call_ = nullptr;
  std::atomic<int> operations_{2};  ///< one to finish, and gRPC's word that the caller is gone
};

/// What the daemon makes of one call. Its reactions come one at a time, on the thread of the call's
/// server, and never from within Start or Finish. These may be called on any thread: at most one
/// read and one write at a time, no write beside a Finish, and exactly one Finish or
/// StartWriteAndFinish in all, behind which nothing is started.
class RawCall {
 public:
  RawCall(const RawCall&) = delete;
  RawCall& operator=(const RawCall&) = delete;
  virtual ~RawCall() = default;

  /// False: there is no message, for the caller has sent its last one, or left.
  virtual void OnReadDone(bool /*ok*/) {}
  /// False: the caller left. Not told of the message of StartWriteAndFinish.
  virtual void OnWriteDone(bool /*ok*/) {}
  /// The caller left, or its connection was lost, before the call's end had reached it.
  virtual void OnCancel() {}
  /// All is over: nothing refers to the call any more, which deletes itself.
  virtual void OnDone() = 0;

 protected:
  explicit RawCall(CallStream& stream) : stream_(stream) { stream.Attach(*this); }

  void StartRead(grpc::ByteBuffer* message) { stream_.StartRead(message); }
  /// The message need not outlive this.
  void StartWrite(const grpc::ByteBuffer* message) { stream_.StartWrite(*message); }
  void StartWriteAndFinish(const grpc::ByteBuffer* message, const grpc::Status& status) {
    stream_.StartWriteAndFinish(*message, status);
  }
  void Finish(const grpc::Status& status) { stream_.Finish(status); }
  [[nodiscard]] grpc::ServerContextBase& context() { return stream_.context(); }

 private:
  CallStream& stream_;
};

/// Makes the call of one method, which deletes itself when it is done. Thread-safe.
using MakeCall = std::function<void(CallStream&)>;
/// By "/package.Service/Method".
using MethodTable = std::unordered_map<std::string, MakeCall>;

/// What a service of the daemon consists of. All methods are served as streams of bytes, whatever
/// their .proto says of their shape, which the wire does not show: gRPC calls a unary handler only
/// when the whole message is in memory, and no bound of ours would see it before.
class RawService {
 public:
  void AddTo(MethodTable& methods) const { methods.insert(methods_.begin(), methods_.end()); }

 protected:
  ~RawService() = default;

  /// `method`: "/package.Service/Method".
  void Serve(const char* method, MakeCall make_call) {
    methods_.emplace(method, std::move(make_call));
  }

 private:
  MethodTable methods_;
};

}  // namespace cccl_cache::daemon
