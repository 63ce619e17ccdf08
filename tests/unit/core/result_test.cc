// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/result.h"

#include <catch2/catch.hpp>
#include <string>

namespace cccl_cache::daemon::result_test {
namespace {

// Programs depend on these names.
TEST_CASE("each error has the name that it was released with") {
  CHECK(Name(ErrorCode::kInvalidRequest) == "invalid-request");
  CHECK(Name(ErrorCode::kToolchainNotFound) == "toolchain-not-found");
  CHECK(Name(ErrorCode::kFilesNeeded) == "files-needed");
  CHECK(Name(ErrorCode::kUploadNeeded) == "upload-needed");
  CHECK(Name(ErrorCode::kOverloaded) == "overloaded");
  CHECK(Name(ErrorCode::kWorkerCrashed) == "worker-crashed");
  CHECK(Name(ErrorCode::kTimedOut) == "timed-out");
  CHECK(Name(ErrorCode::kOutOfMemory) == "out-of-memory");
  CHECK(Name(ErrorCode::kDenied) == "denied");
  CHECK(Name(ErrorCode::kCancelled) == "cancelled");
  CHECK(Name(ErrorCode::kUnavailable) == "unavailable");
}

TEST_CASE("a result is a value or an error, and true if it is a value") {
  const Result<std::string> value = std::string("value");
  CHECK(value);
  CHECK(*value == "value");
  CHECK(value->size() == 5);
  const Result<std::string> error = Error{ErrorCode::kDenied, "why"};
  CHECK_FALSE(error);
  CHECK(error.error().message == "why");
}

TEST_CASE("a value can be changed in place, and moved out") {
  Result<std::string> result = std::string("a");
  *result += "b";
  result->append("c");
  CHECK(result.value() == "abc");
  const std::string moved = *std::move(result);
  CHECK(moved == "abc");
}

}  // namespace
}  // namespace cccl_cache::daemon::result_test
