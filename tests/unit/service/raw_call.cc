// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/service/raw_call.h"

#include <grpcpp/generic/generic_stub.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "tests/unit/service/byte_buffers.h"

namespace cccl_cache::daemon {

RawAnswer CallRaw(const RunningServer& running, const std::string& method,
                  const std::string& message) {
  grpc::GenericStub stub(running.Connect());
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const grpc::Slice slice(message);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer reply;
  bool ok = false;
  const auto wait = [&] {
    void* tag = nullptr;
    queue.Next(&tag, &ok);
  };
  auto stream = stub.PrepareCall(&context, method, &queue);
  stream->StartCall(nullptr);
  wait();
  stream->WriteLast(request, grpc::WriteOptions(), nullptr);
  wait();
  stream->Read(&reply, nullptr);
  wait();
  RawAnswer answer;
  if (ok) answer.message = BytesOf(reply);
  stream->Finish(&answer.status, nullptr);
  wait();
  answer.error = Trailer(context, "cccl-error");
  return answer;
}

}  // namespace cccl_cache::daemon
