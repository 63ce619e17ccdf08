// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/path_error.h"

#include <catch2/catch.hpp>
#include <cerrno>

namespace path_error_test {

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

using Kind = PathError::Kind;

/// Returns the error for a client. Checks that it begins with the path.
Error Explained(const PathError& obstacle) {
  const Error error = Explain(obstacle, "/home/a.h");
  CHECK_THAT(error.message, StartsWith("/home/a.h "));
  return error;
}

}  // namespace

TEST_CASE("a dangling name is absent, as it is to a compiler") {
  const int error = GENERATE(ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG);
  CHECK(PathError::Of(error).kind == Kind::kAbsent);
}

TEST_CASE("a file that the daemon may not open must come from the client") {
  const int error = GENERATE(EACCES, EPERM);
  CHECK(PathError::Of(error).kind == Kind::kClientOnly);
}

TEST_CASE("other errors are failures, not absent files") {
  const int error = GENERATE(EIO, EMFILE, ENOMEM, ESTALE, 0);
  const PathError obstacle = PathError::Of(error);
  CHECK(obstacle.kind == Kind::kFailed);
  CHECK(obstacle.error == error);
}

TEST_CASE("the error of a file closed to some users asks the client to send it") {
  const Error error = Explained({Kind::kClientOnly});
  CHECK(error.code == ErrorCode::kFilesNeeded);
  CHECK_THAT(error.message, Contains("a client that may read it sends it"));
  CHECK_THAT(error.message, Contains("If you may not") && Contains("chmod"));
}

TEST_CASE("the error of a file refused to all users has a remedy") {
  const Error refused = Explained({Kind::kRefused});
  CHECK(refused.code == ErrorCode::kDenied);
  CHECK_THAT(refused.message, Contains("Take it out of the include directories"));
  const Error special = Explained({Kind::kSpecial});
  CHECK(special.code == ErrorCode::kDenied);
  CHECK_THAT(special.message, Contains("copy what it gives into a regular file"));
  const Error large = Explained({Kind::kTooLarge});
  CHECK(large.code == ErrorCode::kDenied);
  CHECK_THAT(large.message, Contains("larger than 64 MiB") && Contains("split it"));
}

TEST_CASE("the error of a temporary fault asks for a retry") {
  const Error changing = Explained({Kind::kChanging});
  CHECK(changing.code == ErrorCode::kUnavailable);
  CHECK_THAT(changing.message, Contains("build when its writer is done"));
  const Error failed = Explained({Kind::kFailed, EIO});
  CHECK(failed.code == ErrorCode::kUnavailable);
  CHECK_THAT(failed.message, Contains("cannot be looked at: Input/output error"));
}

}  // namespace path_error_test
