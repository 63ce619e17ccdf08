// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/client.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace query_test {

using cccl_cache::Client;
using cccl_cache::daemon::TemporaryDirectory;

TEST_CASE("a query is answered with the daemon's reply as JSON") {
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

namespace {

/// Returns the answers of a daemon with this many entries. A request to evict all gets one reply
/// per entry, with the number evicted so far.
StandInAnswers Evicting(int entries, const grpc::Status& status = grpc::Status::OK) {
  StandInAnswers answers;
  answers.evict = [=](const v1::EvictRequest& request, grpc::ServerWriter<v1::EvictReply>* writer) {
    v1::EvictReply reply;
    for (int i = 1; request.all() && i <= entries; ++i) {
      reply.set_entries(i);
      writer->Write(reply);
    }
    return status;
  };
  return answers;
}

}  // namespace

TEST_CASE("several replies report the progress, and the last one is the answer") {
  const TemporaryDirectory directory;
  const StandInDaemon daemon(directory / "socket", Evicting(3));
  std::vector<std::string> seen;
  const auto evicted = Client::Open(daemon.socket())
                           ->Query("evict", {"all=true"}, {},
                                   [&seen](std::string_view json) { seen.emplace_back(json); });
  REQUIRE(evicted.ok());
  REQUIRE(seen.size() == 3);
  CHECK(seen.front() == "{\n  \"entries\": 1,\n  \"bytes\": 0\n}\n");
  CHECK(*evicted == seen.back());
}

TEST_CASE("an error of the daemon is returned, and a missing answer is an error") {
  const TemporaryDirectory directory;
  const StandInDaemon silent(directory / "silent", Evicting(0));
  const auto none = Client::Open(silent.socket())->Query("evict", {"all=true"});
  CHECK(none.error().status == CCCL_CACHE_PROTOCOL);
  const grpc::Status refusal(grpc::StatusCode::PERMISSION_DENIED, "not you");
  const StandInDaemon refusing(directory / "refusing", Evicting(1, refusal));
  const auto refused = Client::Open(refusing.socket())->Query("evict", {"all=true"});
  CHECK(refused.error().message == "not you");
}

TEST_CASE("an unknown query or argument is refused before the daemon is asked") {
  auto client = Client::Open("/nowhere");
  CHECK(client->Query("status").error().status == CCCL_CACHE_INVALID_REQUEST);
  CHECK(client->Query("stats", {"detail=true"}).error().status == CCCL_CACHE_INVALID_REQUEST);
}

TEST_CASE("the error of a query unknown to the daemon says that the daemon is older") {
  const TemporaryDirectory directory;
  const StandInDaemon daemon(directory / "socket", {});
  const auto stats = Client::Open(daemon.socket())->Query("stats");
  REQUIRE_FALSE(stats.ok());
  CHECK(stats.error().status == CCCL_CACHE_PROTOCOL);
  CHECK(stats.error().message.find("older") != std::string::npos);
}

}  // namespace query_test
