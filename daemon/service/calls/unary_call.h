// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message_lite.h>

#include <functional>
#include <memory>
#include <utility>

#include "daemon/service/limits/backend.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/limits/read_gate.h"
#include "daemon/service/transport/stream_call.h"
#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {

/// A call of a method other than Build's, up to the end of its one small request. It is counted
/// like a build, and waits for its turn to be received. Deletes itself when the call is done.
class SmallCall : public RawCall, private GatedReader {
 public:
  /// Called once, after construction is complete.
  void Begin();

  void OnReadDone(bool ok) final;
  void OnCancel() final;
  void OnDone() final;

 protected:
  SmallCall(BuildBackend& backend, Account account, CallStream& stream)
      : RawCall(stream), backend_(backend), account_(account) {}

  /// Called when the request has arrived. Must answer it, or call Fail.
  virtual void OnRequest(grpc::ByteBuffer& request) = 0;
  /// Called when the caller leaves, perhaps before OnRequest, which may still come.
  virtual void OnLeft() {}

  /// Ends the call.
  void Fail(const Error& error);
  /// Counts the bytes of a reply until the call is done.
  [[nodiscard]] Status CountReply(uint64_t bytes);

 private:
  void StartReading() final;
  void GiveUp() final { context().TryCancel(); }

  BuildBackend& backend_;
  const Account account_;
  Share call_;
  Share bytes_;
  grpc::ByteBuffer request_;
};

/// A call with one small request and one reply.
class UnaryCall final : public SmallCall {
 public:
  /// Must be called once, now or later, on any thread. The message counts only if the status is OK.
  using Reply = std::function<void(const grpc::Status&, const google::protobuf::MessageLite&)>;
  template <typename Request>
  using Answer = std::function<void(const Request&, Reply)>;

  /// Returns an error if a well-formed request of its type is invalid.
  template <typename Request>
  using Check = std::function<Status(const Request&)>;

  /// Returns a maker of calls whose requests have this type. `check` may be empty.
  template <typename Request>
  static MakeCall Maker(BuildBackend& backend, Account account, Answer<Request> answer,
                        Check<Request> check = {}) {
    auto decode = [answer = std::move(answer), check = std::move(check)](grpc::ByteBuffer& bytes,
                                                                         Reply reply) -> Status {
      Request request;
      if (auto decoded = DecodeSmall(bytes, request); !decoded) return decoded;
      if (auto checked = check ? check(request) : Status(Ok{}); !checked) return checked;
      answer(request, std::move(reply));
      return Ok{};
    };
    auto shared = std::make_shared<const Method>(std::move(decode));
    return [&backend, account, shared](CallStream& stream) {
      auto* call = new UnaryCall(backend, account, stream, shared);
      call->Begin();
    };
  }

 private:
  /// Returns an error, or else the reply was called or will be.
  using Method = std::function<Status(grpc::ByteBuffer&, Reply)>;

  UnaryCall(BuildBackend& backend, Account account, CallStream& stream,
            std::shared_ptr<const Method> method)
      : SmallCall(backend, account, stream), method_(std::move(method)) {}

  void OnRequest(grpc::ByteBuffer& request) override;
  void End(const grpc::Status& status, const google::protobuf::MessageLite& reply);

  const std::shared_ptr<const Method> method_;
  grpc::ByteBuffer reply_;
};

}  // namespace cccl_cache::daemon
