// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "client/src/transport/call.h"

using cccl_cache::Error;
using cccl_cache::GrpcStatus;
using cccl_cache::PercentDecode;

TEST_CASE("percent-encoded messages are decoded, malformed ones left alone") {
  CHECK(PercentDecode("a%20b%0Ac") == "a b\nc");
  CHECK(PercentDecode("%E2%82%AC") == "\xe2\x82\xac");
  CHECK(PercentDecode("100%") == "100%");
  CHECK(PercentDecode("%4") == "%4");
  CHECK(PercentDecode("%zz%-1") == "%zz%-1");
  CHECK(PercentDecode("%41") == "A");
  CHECK(PercentDecode("").empty());
}

TEST_CASE("the daemon's own name for an error beats gRPC's code") {
  GrpcStatus status;
  status.AddField("grpc-status", "8");
  status.AddField("grpc-message", "too%20much%20memory");
  status.AddField("cccl-error", "out-of-memory");
  status.AddField("cccl-retry-ms", "250");
  CHECK_FALSE(status.ok());
  const Error error = status.ToError();
  CHECK(error.status == CCCL_CACHE_OUT_OF_MEMORY);
  CHECK(error.message == "too much memory");
  CHECK(error.retry_after_ms == 250);
}

TEST_CASE("every name that the daemon sends is known") {
  for (const int status : {2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14}) {
    const auto expected = static_cast<cccl_cache_status>(status);
    GrpcStatus given;
    given.AddField("grpc-status", "2");
    given.AddField("cccl-error", cccl_cache_status_name(expected));
    CHECK(given.ToError().status == expected);
  }
}

TEST_CASE("a name that is not known falls back to gRPC's code") {
  const auto classify = [](const char* code) {
    GrpcStatus status;
    status.AddField("grpc-status", code);
    status.AddField("cccl-error", "of-the-future");
    return status.ToError().status;
  };
  CHECK(classify("3") == CCCL_CACHE_INVALID_REQUEST);
  CHECK(classify("4") == CCCL_CACHE_DEADLINE);
  CHECK(classify("7") == CCCL_CACHE_DENIED);
  CHECK(classify("8") == CCCL_CACHE_OVERLOADED);
  CHECK(classify("14") == CCCL_CACHE_UNAVAILABLE);
  CHECK(classify("12") == CCCL_CACHE_PROTOCOL);
  CHECK(classify("no number") == CCCL_CACHE_PROTOCOL);
}

TEST_CASE("what gRPC itself refuses as too much is too large a message, and no overload") {
  GrpcStatus status;
  status.AddField("grpc-status", "8");
  status.AddField("grpc-message", "larger than max");
  CHECK(status.ToError().status == CCCL_CACHE_TOO_LARGE);
  CHECK(status.ToError().message.find("message_limit") != std::string::npos);
}

TEST_CASE("an answer without a status is no gRPC, and says so") {
  GrpcStatus status;
  status.AddField(":status", "404");
  CHECK_FALSE(status.ok());
  CHECK(status.ToError().status == CCCL_CACHE_PROTOCOL);
  CHECK(status.ToError().message.find("404") != std::string::npos);
}
