// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "cccl_cache/client.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace query_test {

using cccl_cache::Client;
using cccl_cache::daemon::TemporaryDirectory;

TEST_CASE("a question is answered with the daemon's reply as JSON") {
  const TemporaryDirectory directory;
  StandInAnswers answers;
  answers.stats = [](v1::StatsReply* reply) {
    reply->set_version("1.2.3");
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open(daemon.socket());
  const auto stats = client->Query("stats", {"detailed=true"});
  REQUIRE(stats.ok());
  CHECK(stats->find("\"version\": \"1.2.3\"") != std::string::npos);
}

TEST_CASE("a question that the library does not know is refused, and so is an argument") {
  auto client = Client::Open("/nowhere");
  CHECK(client->Query("status").error().status == CCCL_CACHE_INVALID_REQUEST);
  CHECK(client->Query("stats", {"detail=true"}).error().status == CCCL_CACHE_INVALID_REQUEST);
}

TEST_CASE("a question that the daemon does not know says that it is older") {
  const TemporaryDirectory directory;
  const StandInDaemon daemon(directory / "socket", {});
  const auto stats = Client::Open(daemon.socket())->Query("stats");
  REQUIRE_FALSE(stats.ok());
  CHECK(stats.error().status == CCCL_CACHE_PROTOCOL);
  CHECK(stats.error().message.find("older") != std::string::npos);
}

}  // namespace query_test
