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

}  // namespace cccl_cache::daemon
