// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "cccl_cache/client.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace explain_test {

TEST_CASE("explain ends when the daemon asks for the same files again and again") {
  int times = 0;
  StandInAnswers answers;
  answers.explain = [&times](grpc::ServerContext* context, const auto&, auto*) {
    ++times;
    context->AddTrailingMetadata("cccl-error", "files-needed");
    return grpc::Status(grpc::StatusCode::INTERNAL, "the daemon's reason");
  };
  const cccl_cache::daemon::TemporaryDirectory directory;
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = cccl_cache::Client::Open(daemon.socket());
  REQUIRE(client.ok());
  cccl_cache::NvrtcBuild build;
  build.source = "source";
  const auto explanation = client->Explain(build);
  REQUIRE_FALSE(explanation.ok());
  CHECK(explanation.error().status == CCCL_CACHE_FILES_NEEDED);
  CHECK(times <= 3);
}

}  // namespace explain_test
