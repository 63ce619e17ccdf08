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
#include <string_view>
#include <unordered_map>

namespace cccl_cache::daemon {

class RawCall;

/// The object that gRPC's queue returns at the end of an operation.
class Completion {
 public:
  virtual void Complete(bool ok) = 0;

 protected:
  ~Completion() = default;
};

/// gRPC's side of one call: its context, its messages, and the number of its operations in
/// progress. Reports the results of operations to the attached call. Completions arrive on one
/// thread.
class CallStream {
 public:
  /// Called once, as the last event of the stream. It may destroy the stream.
  using Over = std::function<void(CallStream&)>;
  explicit CallStream(Over over);
  CallStream(const CallStream&) = delete;
  CallStream& operator=(const CallStream&) = delete;

  /// Waits for a call of any method. If the server ends first, `arrived` completes with false; then
  /// there is no call, and `over` is not called.
  void Await(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue,
             Completion& arrived);
  /// Must be called before any operation starts.
  void Attach(RawCall& call) { call_ = &call; }

  [[nodiscard]] const std::string& method() const { return context_.method(); }
  [[nodiscard]] std::string peer() const { return context_.peer(); }
  /// Returns the value of a field in the call's headers. Empty if the client sent none.
  [[nodiscard]] std::string_view Field(std::string_view name) const;
  [[nodiscard]] grpc::ServerContextBase& context() { return context_; }

  // As in RawCall.
  void StartRead(grpc::ByteBuffer* message);
  void StartWrite(const grpc::ByteBuffer& message);
  void StartWriteAndFinish(const grpc::ByteBuffer& message, const grpc::Status& status);
  void Finish(const grpc::Status& status);

 private:
  /// One operation, in progress or not.
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
  /// Operations in progress. Initially 2: Finish, and gRPC's notice that the caller has left.
  std::atomic<int> operations_{2};
};

/// The daemon's side of one call. Its callbacks run one at a time, on the thread of the call's
/// server, and never from within Start or Finish. Start and Finish may be called on any thread. At
/// most one read and one write may be in progress, and no write together with a Finish. Finish or
/// StartWriteAndFinish must be called exactly once, and nothing may be started after that.
class RawCall {
 public:
  RawCall(const RawCall&) = delete;
  RawCall& operator=(const RawCall&) = delete;
  virtual ~RawCall() = default;

  /// `ok` is false without a message, because the caller has sent its last message or has left.
  virtual void OnReadDone(bool /*ok*/) {}
  /// `ok` is false if the caller has left. Not called for the message of StartWriteAndFinish.
  virtual void OnWriteDone(bool /*ok*/) {}
  /// Called if the caller has left, or its connection was lost, before the caller got the end of
  /// the call.
  virtual void OnCancel() {}
  /// The last callback: nothing refers to the call any more. The call must delete itself.
  virtual void OnDone() = 0;

 protected:
  explicit RawCall(CallStream& stream) : stream_(stream) { stream.Attach(*this); }

  void StartRead(grpc::ByteBuffer* message) { stream_.StartRead(message); }
  /// The message may be destroyed after the return.
  void StartWrite(const grpc::ByteBuffer* message) { stream_.StartWrite(*message); }
  void StartWriteAndFinish(const grpc::ByteBuffer* message, const grpc::Status& status) {
    stream_.StartWriteAndFinish(*message, status);
  }
  void Finish(const grpc::Status& status) { stream_.Finish(status); }
  [[nodiscard]] grpc::ServerContextBase& context() { return stream_.context(); }

 private:
  CallStream& stream_;
};

/// Makes the call of one method. The call deletes itself when it is done. Thread-safe.
using MakeCall = std::function<void(CallStream&)>;
/// The methods by "/package.Service/Method".
using MethodTable = std::unordered_map<std::string, MakeCall>;

/// The methods of one service of the daemon. All methods are served as streams of bytes, whatever
/// their .proto declares, because the wire does not show the difference. gRPC calls a unary handler
/// only after the whole message is in memory, so our bounds would not apply to the message.
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
