// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/messages.h"

#include <grpcpp/server_context.h>
#include <grpcpp/test/server_context_test_spouse.h>

#include <catch2/catch.hpp>
#include <string>

#include "cccl_cache/v1/admin.pb.h"
#include "tests/unit/service/byte_buffers.h"

namespace cccl_cache::daemon::messages_test {
namespace {

/// The error that a client gets, and its trailers.
struct Told {
  explicit Told(const Error& error) : status(ToGrpcStatus(error, context)) {}

  [[nodiscard]] std::string Trailer(const std::string& name) {
    const auto trailers = grpc::testing::ServerContextTestSpouse(&context).GetTrailingMetadata();
    const auto found = trailers.find(name);
    return found == trailers.end() ? "" : found->second;
  }

  grpc::ServerContext context;
  grpc::Status status;
};

TEST_CASE("each error has a status of gRPC, and its own name as a trailer") {
  const std::pair<ErrorCode, grpc::StatusCode> codes[] = {
      {ErrorCode::kInvalidRequest, grpc::StatusCode::INVALID_ARGUMENT},
      {ErrorCode::kToolchainNotFound, grpc::StatusCode::FAILED_PRECONDITION},
      {ErrorCode::kFilesNeeded, grpc::StatusCode::FAILED_PRECONDITION},
      {ErrorCode::kUploadNeeded, grpc::StatusCode::FAILED_PRECONDITION},
      {ErrorCode::kOverloaded, grpc::StatusCode::RESOURCE_EXHAUSTED},
      {ErrorCode::kOutOfMemory, grpc::StatusCode::RESOURCE_EXHAUSTED},
      {ErrorCode::kWorkerCrashed, grpc::StatusCode::INTERNAL},
      {ErrorCode::kTimedOut, grpc::StatusCode::DEADLINE_EXCEEDED},
      {ErrorCode::kDenied, grpc::StatusCode::PERMISSION_DENIED},
      {ErrorCode::kCancelled, grpc::StatusCode::CANCELLED},
      {ErrorCode::kUnavailable, grpc::StatusCode::UNAVAILABLE}};
  for (const auto& [code, status] : codes) {
    Told told(Error{code, "why"});
    CHECK(told.status.error_code() == status);
    CHECK(told.status.error_message() == "why");
    CHECK(told.Trailer("cccl-error") == Name(code));
    CHECK(told.Trailer("cccl-retry-ms").empty());
  }
}

TEST_CASE("the text of an error has the request id as in the log") {
  Error error{ErrorCode::kOverloaded, "full"};
  error.request_id = 0x69abc;
  CHECK(Told(error).status.error_message() == "full [request 69abc]");
}

TEST_CASE("the retry time of an error is a trailer") {
  Error error{ErrorCode::kOverloaded, "full"};
  error.retry_after = std::chrono::milliseconds(250);
  CHECK(Told(error).Trailer("cccl-retry-ms") == "250");
}

TEST_CASE("a long error text is cut, and invalid UTF-8 is replaced") {
  const Told told(Error{ErrorCode::kDenied, "\xff" + std::string(5'000, 'x')});
  CHECK(told.status.error_message() == "?" + std::string(kMaxErrorText - 1, 'x'));
}

namespace v1 = cccl_cache::v1;

TEST_CASE("a small message is decoded") {
  v1::ToolchainsRequest message;
  message.set_driver_version(13000);
  auto bytes = Encode(message);
  v1::ToolchainsRequest read;
  REQUIRE(DecodeSmall(bytes, read).ok());
  CHECK(read.driver_version() == 13000);
}

TEST_CASE("a request above its method's limit is refused with both sizes") {
  v1::ToolchainsRequest message;
  auto bytes = BufferOf(std::string(kSmallRequestBytes + 1, '\0'));
  const Status read = DecodeSmall(bytes, message);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == ErrorCode::kInvalidRequest);
  CHECK(read.error().message == "a request of 4097 bytes: at most 4096 are allowed here");
}

TEST_CASE("malformed bytes are refused with the expected message's name") {
  v1::ToolchainsRequest message;
  auto bytes = BufferOf(std::string_view("\xff\xff"));
  const Status read = DecodeSmall(bytes, message);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message == "the message is not a cccl_cache.v1.ToolchainsRequest");
}

}  // namespace
}  // namespace cccl_cache::daemon::messages_test
