// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>

#include "cccl_cache/batch.h"
#include "cccl_cache/client.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace process_cache_test {

using cccl_cache::Batch;
using cccl_cache::Client;
using cccl_cache::Kind;
using cccl_cache::NvrtcBuild;
using cccl_cache::Outcome;
using cccl_cache::daemon::TemporaryDirectory;

namespace {

/// A daemon that answers each build with the cubin of its source, and counts the builds.
struct ClosedBuilds {
  TemporaryDirectory directory;
  std::atomic<int> asked{0};
  bool closed = true;
  StandInDaemon daemon{directory / "socket", Answers()};

  StandInAnswers Answers() {
    StandInAnswers answers;
    answers.build = [this](auto*, const v1::BuildRequest& request, v1::BuildReply* reply) {
      *reply = Answer(request);
      return grpc::Status::OK;
    };
    answers.many = [this](auto*, StandInAnswers::Many* stream) {
      v1::BuildManyRequest request;
      while (stream->Read(&request)) {
        v1::BuildManyReply reply;
        reply.set_tag(request.tag());
        *reply.mutable_reply() = Answer(request.build());
        stream->Write(reply);
      }
      return grpc::Status::OK;
    };
    return answers;
  }
  v1::BuildReply Answer(const v1::BuildRequest& request) {
    ++asked;
    v1::BuildReply reply = HitWithCubin("cubin of " + request.nvrtc().source().inline_bytes());
    reply.set_outcome(v1::OUTCOME_BUILT);
    reply.set_tier(v1::TIER_NONE);
    reply.set_closed(closed);
    return reply;
  }
};

}  // namespace

TEST_CASE("a process asks the daemon only once for the same build") {
  ClosedBuilds builds;
  Client client = *Client::Open(builds.daemon.socket());
  const auto first = client.Build(NvrtcBuild{.source = "a"});
  REQUIRE(first.ok());
  CHECK(first->outcome() == Outcome::kBuilt);
  const auto second = client.Build(NvrtcBuild{.source = "a"});
  REQUIRE(second.ok());
  CHECK(builds.asked == 1);
  CHECK(second->outcome() == Outcome::kHit);
  CHECK(second->tier() == "process");
  CHECK(second->key() == first->key());
  CHECK(second->info().compile_us == 0);
  CHECK(second->artifact(Kind::kCubin) == "cubin of a");
  CHECK(second->artifact(Kind::kCubin).data() == first->artifact(Kind::kCubin).data());
  CHECK(client.info().process_hits == 1);
  CHECK(client.info().process_entries == 1);
  REQUIRE(client.Build(NvrtcBuild{.source = "b"}).ok());
  CHECK(builds.asked == 2);
}

TEST_CASE("a result outlives the client that kept it") {
  ClosedBuilds builds;
  std::optional<Client> client = *Client::Open(builds.daemon.socket());
  REQUIRE(client->Build(NvrtcBuild{.source = "a"}).ok());
  const auto kept = client->Build(NvrtcBuild{.source = "a"});
  client.reset();
  CHECK(kept->artifact(Kind::kCubin) == "cubin of a");
}

TEST_CASE("a batch and single builds share their kept replies") {
  ClosedBuilds builds;
  Client client = *Client::Open(builds.daemon.socket());
  Batch batch = *Batch::Open(client);
  REQUIRE(client.Build(NvrtcBuild{.source = "a"}).ok());
  REQUIRE(batch.Add(NvrtcBuild{.source = "a"}, 1).ok());
  const auto known = batch.Next(std::chrono::milliseconds(0));
  REQUIRE(known);
  CHECK(known->tag == 1);
  CHECK(known->result->tier() == "process");
  REQUIRE(batch.Add(NvrtcBuild{.source = "b"}, 2).ok());
  REQUIRE(batch.Next()->result.ok());
  CHECK(client.Build(NvrtcBuild{.source = "b"})->tier() == "process");
  CHECK(builds.asked == 2);
}

TEST_CASE("each build asks the daemon if the process cache can't keep its reply") {
  ClosedBuilds builds;
  std::optional<Client> client;
  SECTION("the client was opened without a process cache") {
    client = *Client::Open(cccl_cache::ClientOptions{.socket = builds.daemon.socket(),
                                                     .process_cache_bytes = CCCL_CACHE_OFF});
  }
  SECTION("the environment turns the cache off") {
    setenv("CCCL_CACHE_PROCESS_BYTES", "off", 1);
    client = *Client::Open(builds.daemon.socket());
  }
  SECTION("the environment sets a size that is too small for the reply") {
    setenv("CCCL_CACHE_PROCESS_BYTES", "100", 1);
    client = *Client::Open(builds.daemon.socket());
  }
  SECTION("the reply is not closed") {
    builds.closed = false;
    client = *Client::Open(builds.daemon.socket());
  }
  unsetenv("CCCL_CACHE_PROCESS_BYTES");
  for (int i = 0; i < 3; ++i) REQUIRE(client->Build(NvrtcBuild{.source = "a"}).ok());
  CHECK(builds.asked == 3);
  CHECK(client->info().process_hits == 0);
}

TEST_CASE("an invalid size in the environment is refused by name") {
  for (const char* wrong : {"", "lots", "12k", "-1"}) {
    setenv("CCCL_CACHE_PROCESS_BYTES", wrong, 1);
    const auto client = Client::Open("/nowhere");
    unsetenv("CCCL_CACHE_PROCESS_BYTES");
    REQUIRE_FALSE(client.ok());
    CHECK(client.error().status == CCCL_CACHE_INVALID_REQUEST);
    CHECK(client.error().message.find("CCCL_CACHE_PROCESS_BYTES") == 0);
  }
}

}  // namespace process_cache_test
