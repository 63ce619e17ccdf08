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

/// The tag of an operation in gRPC's queue. Complete is called when the operation has ended.
class Completion {
 public:
  virtual void Complete(bool ok) = 0;

 protected:
  ~Completion() = default;
};

/// The gRPC objects of one call, and the number of its operations in progress. Reports the result
/// of each operation to the attached RawCall, on the thread of the call's server.
class CallStream {
 public:
  /// Called once, when all operations of the stream have ended. It may destroy the stream.
  using Over = std::function<void(CallStream&)>;
  explicit CallStream(Over over);
  CallStream(const CallStream&) = delete;
  CallStream& operator=(const CallStream&) = delete;

  /// Asks gRPC for the next call of any method, and returns at once. `arrived` completes when the
  /// call has arrived. If the server ends first, `arrived` completes with false, and `over` is
  /// never called.
  void Await(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue,
             Completion& arrived);
  /// Must be called before any operation starts.
  void Attach(RawCall& call) { call_ = &call; }

  [[nodiscard]] const std::string& method() const { return context_.method(); }
  [[nodiscard]] std::string peer() const { return context_.peer(); }
  /// Returns the value of a header of the call. The result is empty if the client did not send the
  /// header.
  [[nodiscard]] std::string_view Field(std::string_view name) const;
  [[nodiscard]] grpc::ServerContextBase& context() { return context_; }

  // These functions are described in RawCall.
  void StartRead(grpc::ByteBuffer* message);
  void StartWrite(const grpc::ByteBuffer& message);
  void StartWriteAndFinish(const grpc::ByteBuffer& message, const grpc::Status& status);
  void Finish(const grpc::Status& status);

 private:
  /// The completion of one kind of operation. It passes the result to `reaction`, a method of the
  /// stream.
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
  /// Number of operations in progress. It starts at 2, for Finish and for gRPC's notice that the
  /// call has ended.
  std::atomic<int> operations_{2};
};

/// The daemon's side of one call. Its callbacks run one at a time, on the thread of the call's
/// server. A callback never runs inside a call of StartRead, StartWrite, StartWriteAndFinish or
/// Finish. Those functions may be called on any thread. At most one read and one write may be in
/// progress, and no write together with Finish. Finish or StartWriteAndFinish must be called
/// exactly once, and no operation may start after that.
class RawCall {
 public:
  RawCall(const RawCall&) = delete;
  RawCall& operator=(const RawCall&) = delete;
  virtual ~RawCall() = default;

  /// Called after StartRead. `ok` is false if there is no message, because the caller has sent its
  /// last one or has left.
  virtual void OnReadDone(bool /*ok*/) {}
  /// Called after StartWrite. `ok` is false if the caller has left. Not called after
  /// StartWriteAndFinish.
  virtual void OnWriteDone(bool /*ok*/) {}
  /// Called if the call ended before the caller got its status: the caller cancelled it or left, or
  /// the connection was lost.
  virtual void OnCancel() {}
  /// Called last. Nothing refers to the call any more, and the call must delete itself.
  virtual void OnDone() = 0;

 protected:
  explicit RawCall(CallStream& stream) : stream_(stream) { stream.Attach(*this); }

  void StartRead(grpc::ByteBuffer* message) { stream_.StartRead(message); }
  /// The caller may destroy the message after StartWrite or StartWriteAndFinish returns.
  void StartWrite(const grpc::ByteBuffer* message) { stream_.StartWrite(*message); }
  void StartWriteAndFinish(const grpc::ByteBuffer* message, const grpc::Status& status) {
    stream_.StartWriteAndFinish(*message, status);
  }
  void Finish(const grpc::Status& status) { stream_.Finish(status); }
  [[nodiscard]] grpc::ServerContextBase& context() { return stream_.context(); }

 private:
  CallStream& stream_;
};

/// Makes the RawCall for a new call of one method. The RawCall deletes itself in OnDone.
/// Thread-safe.
using MakeCall = std::function<void(CallStream&)>;
/// Maps a method, as "/package.Service/Method", to the function that makes its calls.
using MethodTable = std::unordered_map<std::string, MakeCall>;

/// The methods of one of the daemon's services. gRPC serves all of them as streams of bytes, even
/// those that their .proto declares as unary. The wire does not show the difference. gRPC would
/// call a unary handler only when the whole message is in memory, so the daemon's limits would not
/// apply to the message.
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
