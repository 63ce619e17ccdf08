// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cccl_cache/upkeep.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "cccl_cache/client.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace upkeep_test {

using cccl_cache::Client;

namespace {

struct Scene {
  v1::EvictRequest asked;
  grpc::Status status = grpc::Status::OK;
  bool answers = true;
  cccl_cache::daemon::TemporaryDirectory directory;
  StandInDaemon daemon{directory / "socket", Answers()};
  cccl_cache::Expected<Client> client = Client::Open(daemon.socket());

  StandInAnswers Answers() {
    StandInAnswers given;
    given.evict = [this](const v1::EvictRequest& request,
                         grpc::ServerWriter<v1::EvictReply>* writer) {
      asked = request;
      v1::EvictReply reply;
      for (int i = 1; answers && i <= 3; ++i) {
        reply.set_entries(i);
        reply.set_bytes(100 * i);
        writer->Write(reply);
      }
      return status;
    };
    given.verify = [this](grpc::ServerWriter<v1::VerifyReply>* writer) {
      v1::VerifyReply reply;
      reply.set_all_entries(9);
      reply.set_all_bytes(900);
      for (int i = 1; answers && i <= 2; ++i) {
        reply.set_entries(i);
        reply.set_bytes(100 * i);
        reply.set_broken(i);
        reply.set_unreadable(3);
        writer->Write(reply);
      }
      return status;
    };
    return given;
  }
};

}  // namespace

TEST_CASE("each field of what is to be evicted arrives, and the last numbers are the result") {
  Scene scene;
  std::vector<uint64_t> seen;
  const auto evicted = scene.client->upkeep().Evict(
      {.keys = {"0123abcd", std::string(64, 'f')}},
      [&seen](const cccl_cache_evicted& so_far) { seen.push_back(so_far.entries); });
  REQUIRE(evicted.ok());
  CHECK(evicted->entries == 3);
  CHECK(evicted->bytes == 300);
  CHECK(seen == std::vector<uint64_t>{1, 2, 3});
  REQUIRE(scene.asked.keys_size() == 2);
  CHECK(scene.asked.keys(0) == "0123abcd");
  CHECK(scene.asked.keys(1) == std::string(64, 'f'));
  CHECK_FALSE(scene.asked.all());
  REQUIRE(scene.client->upkeep().Evict({.unused_for = std::chrono::hours(1)}).ok());
  CHECK(scene.asked.unused_s() == 3600);
  REQUIRE(scene.client->upkeep().Evict({.toolchain = "89abcdef"}).ok());
  CHECK(scene.asked.toolchain() == "89abcdef");
  REQUIRE(scene.client->upkeep().Evict({.all = true}).ok());
  CHECK(scene.asked.all());
}

TEST_CASE("the last numbers of a verification are its result") {
  Scene scene;
  uint64_t told = 0;
  const auto verified =
      scene.client->upkeep().Verify([&told](const cccl_cache_verified&) { ++told; });
  REQUIRE(verified.ok());
  CHECK(told == 2);
  CHECK(verified->entries == 2);
  CHECK(verified->bytes == 200);
  CHECK(verified->all_entries == 9);
  CHECK(verified->all_bytes == 900);
  CHECK(verified->broken == 2);
  CHECK(verified->unreadable == 3);
}

TEST_CASE("an error of upkeep is passed on, and an answer without numbers is one") {
  Scene scene;
  scene.answers = false;
  CHECK(scene.client->upkeep().Verify().error().status == CCCL_CACHE_PROTOCOL);
  CHECK(scene.client->upkeep().Evict({.all = true}).error().status == CCCL_CACHE_PROTOCOL);
  scene.status = {grpc::StatusCode::PERMISSION_DENIED, "not you"};
  CHECK(scene.client->upkeep().Verify().error().message == "not you");
}

}  // namespace upkeep_test
