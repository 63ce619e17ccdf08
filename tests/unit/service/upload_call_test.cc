// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::upload_call_test {
namespace {

namespace v1 = cccl_cache::v1;
constexpr size_t kChunk = 1 << 20;

grpc::Status Upload(v1::Build::Stub& stub, grpc::ClientContext& context, std::string_view bytes,
                    v1::UploadReply& reply, size_t chunk_bytes = kChunk) {
  auto writer = stub.Upload(&context, &reply);
  while (!bytes.empty()) {
    v1::UploadChunk chunk;
    chunk.set_data(std::string(bytes.substr(0, chunk_bytes)));
    bytes.remove_prefix(chunk.data().size());
    if (!writer->Write(chunk)) break;
  }
  writer->WritesDone();
  return writer->Finish();
}

TEST_CASE("an upload can be named by its digest in a request") {
  RunningServer running;
  running.builder.AnswerWith([](const cccl_cache::BuildRequest& request, const Peer&) {
    const auto& program = std::get<cccl_cache::NvrtcProgram>(request.program);
    return MakeAnswer(cccl_cache::Sha256(program.source).Hex());
  });
  const std::string source(20 << 20, 's');
  auto stub = running.BuildStub();
  grpc::ClientContext context;
  v1::UploadReply uploaded;
  REQUIRE(Upload(*stub, context, source, uploaded).ok());
  CHECK(uploaded.size() == source.size());
  CHECK(uploaded.sha256() == cccl_cache::Sha256(source).View());

  v1::BuildRequest request;
  request.mutable_nvrtc()->mutable_source()->set_upload_sha256(uploaded.sha256());
  grpc::ClientContext building;
  v1::BuildReply reply;
  REQUIRE(stub->Build(&building, request, &reply).ok());
  CHECK(reply.artifacts(0).contents() == cccl_cache::Sha256(source).Hex());
}

TEST_CASE("an aborted upload frees the bytes that it held") {
  ServiceLimits limits;
  limits.upload_bytes_per_uid = 3 * kChunk;
  for (int i = 0; i < 5; ++i) {  // the end of the stream may come before or after the error
    RunningServer running(limits);
    const auto stub = running.BuildStub();
    grpc::ClientContext leaving;
    v1::UploadReply reply;
    const auto writer = stub->Upload(&leaving, &reply);
    v1::UploadChunk chunk;
    chunk.set_data(std::string(kChunk, 'a'));
    REQUIRE(writer->Write(chunk));
    REQUIRE(writer->Write(chunk));
    leaving.TryCancel();
    CHECK_FALSE(writer->Finish().ok());
    // The server may not have seen the cancellation yet.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    grpc::Status stayed(grpc::StatusCode::UNKNOWN, "not asked");
    while (!stayed.ok() && std::chrono::steady_clock::now() < until) {
      grpc::ClientContext context;
      stayed = Upload(*stub, context, std::string(2 * kChunk, 'z'), reply);
    }
    CHECK(stayed.ok());
  }
}

TEST_CASE("an empty upload is valid") {
  RunningServer running;
  grpc::ClientContext context;
  v1::UploadReply reply;
  REQUIRE(Upload(*running.BuildStub(), context, "", reply).ok());
  CHECK(reply.sha256() == cccl_cache::Sha256("").View());
}

TEST_CASE("a digest without an upload is an error that requests the upload") {
  RunningServer running;
  v1::BuildRequest request;
  request.mutable_nvrtc()->mutable_source()->set_upload_sha256(
      std::string(cccl_cache::Sha256("never sent").View()));
  grpc::ClientContext context;
  v1::BuildReply reply;
  const auto status = running.BuildStub()->Build(&context, request, &reply);
  CHECK(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK(Trailer(context, "cccl-error") == "upload-needed");
}

TEST_CASE("a chunk that is too large is refused") {
  RunningServer running;
  grpc::ClientContext context;
  v1::UploadReply reply;
  const auto status =
      Upload(*running.BuildStub(), context, std::string(3 << 20, 'x'), reply, 2 << 20);
  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(status.error_message().find("at most 1048576") != std::string::npos);
}

TEST_CASE("an upload larger than any request and any header set is refused") {
  ServiceLimits limits;
  limits.source_bytes = 2 << 20;
  limits.header_set_bytes = 3 << 20;
  RunningServer running(limits);
  auto stub = running.BuildStub();
  const auto upload = [&](size_t size) {
    grpc::ClientContext context;
    v1::UploadReply reply;
    return Upload(*stub, context, std::string(size, 'x'), reply).error_code();
  };
  CHECK(upload(3 << 20) == grpc::StatusCode::OK);
  CHECK(upload(4 << 20) == grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("bytes of uploads are bounded, and a refused upload frees its part") {
  ServiceLimits limits;
  limits.upload_bytes_per_uid = 5 << 20;
  RunningServer running(limits);
  auto stub = running.BuildStub();
  auto upload = [&](size_t size, char fill) {
    grpc::ClientContext context;
    v1::UploadReply reply;
    const auto status = Upload(*stub, context, std::string(size, fill), reply);
    return status.ok() ? std::string("ok") : Trailer(context, "cccl-error");
  };
  CHECK(upload(3 << 20, 'a') == "ok");
  CHECK(upload(3 << 20, 'b') == "overloaded");
  CHECK(upload(1 << 20, 'c') == "ok");
}

TEST_CASE("uploads in progress are bounded") {
  RunningServer running;
  auto stub = running.BuildStub();
  std::vector<grpc::ClientContext> contexts(17);
  std::promise<void> one_ended;
  std::atomic<int> ended = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> uploads;
  for (auto& context : contexts) {
    uploads.emplace_back([&] {
      v1::UploadReply reply;
      // Only a refused upload ends.
      const auto status = stub->Upload(&context, &reply)->Finish();
      if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) ++refused;
      if (++ended == 1) one_ended.set_value();
    });
  }
  CHECK(one_ended.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  CHECK(refused == 1);
  for (auto& context : contexts) context.TryCancel();
  for (auto& upload : uploads) upload.join();
  CHECK(refused == 1);
}

}  // namespace
}  // namespace cccl_cache::daemon::upload_call_test
