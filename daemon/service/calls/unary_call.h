// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message_lite.h>

#include <functional>
#include <memory>
#include <utility>

#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/stream_call.h"
#include "daemon/service/transport/raw_call.h"
#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {

/// A call with one small request and one reply. The request waits for its turn at the read gate.
class UnaryCall final : public StreamCall {
 public:
  /// Sends the reply. Must be called exactly once. The call may come later, and on any thread. The
  /// message is sent only if the status is OK.
  using Reply = std::function<void(const grpc::Status&, const google::protobuf::MessageLite&)>;
  template <typename Request>
  using Answer = std::function<void(const Request&, Reply)>;

  /// Returns an error if a well-formed request is invalid.
  template <typename Request>
  using Check = std::function<Status(const Request&)>;

  /// Returns a function that makes calls with this type of request. `check` may be empty.
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
      new UnaryCall(backend, account, stream, shared);
    };
  }

 private:
  /// Decodes and answers a request. Returns an error, or calls the reply now or later.
  using Method = std::function<Status(grpc::ByteBuffer&, Reply)>;

  UnaryCall(BuildBackend& backend, Account account, CallStream& stream,
            std::shared_ptr<const Method> method);

  void OnMessage(grpc::ByteBuffer& request) override;

  const std::shared_ptr<const Method> method_;
};

}  // namespace cccl_cache::daemon
