// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Behaviour of a batch when the daemon stops, is gone, or has no room.
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <future>
#include <set>
#include <string>
#include <thread>

#include "cccl_cache/batch.h"
#include "tests/unit/client/batch_scene.h"
#include "tests/unit/client/scripted_server.h"

namespace batch_pace_test {

using cccl_cache::Batch;
using cccl_cache::Client;
using cccl_cache::daemon::TemporaryDirectory;
using namespace std::chrono_literals;

TEST_CASE("builds that a daemon left unanswered are sent to the next one") {
  std::atomic<bool> asked{false};
  std::atomic<bool> is_next{false};
  std::promise<void> both_asked;
  StandInAnswers answers;
  answers.many = [&](grpc::ServerContext* context, Many* stream) {
    if (is_next) return Echo(context, stream);
    v1::BuildManyRequest request;
    if (asked.exchange(true)) {  // as a daemon that is stopping does
      while (stream->Read(&request)) Refuse(stream, request.tag(), "unavailable", 10);
      return grpc::Status::OK;
    }
    stream->Read(&request);
    Reply(stream, request.tag(), SourceOf(request));
    stream->Read(&request);
    stream->Read(&request);
    both_asked.set_value();
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("a"), 1).ok());
  REQUIRE(batch.Add(Source("b"), 2).ok());
  REQUIRE(batch.Add(Source("c"), 3).ok());
  CHECK(CubinOf(batch.Next()) == "a");
  both_asked.get_future().wait();
  scene.daemon.Stop(200ms);       // time to announce the stop to the client
  CHECK_FALSE(batch.Next(50ms));  // the next daemon does not listen yet
  is_next = true;
  scene.daemon.Start();
  std::set<std::string> rest;
  while (const auto finished = batch.Next()) rest.insert(CubinOf(finished));
  CHECK(rest == std::set<std::string>{"b", "c"});
}

TEST_CASE("builds that a stopping daemon refuses are sent to the next daemon") {
  std::atomic<int> refused{0};
  StandInAnswers answers;
  answers.many = [&](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      if (refused++ < 3) {
        Refuse(stream, request.tag(), "unavailable", 10);
      } else {
        Reply(stream, request.tag(), "there");
      }
    }
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("a"), 1).ok());
  CHECK(CubinOf(batch.Next()) == "there");
  CHECK(refused == 4);
}

TEST_CASE("a build that killed two daemons is not sent to a third") {
  const TemporaryDirectory directory;
  // Accepts the connection (SETTINGS and its acknowledgement), reads something, and closes.
  const ScriptedServer dying(directory / "socket", [](int fd, int) {
    ScriptedServer::Say(fd, ScriptedServer::Frame(4, 0, 0, ""));
    char bytes[4096];
    static_cast<void>(read(fd, bytes, sizeof(bytes)));
  });
  Client client = OpenClient(directory / "socket");
  Batch batch = *Batch::Open(client);
  REQUIRE(batch.Add(Source("poison"), 1).ok());
  CHECK(StatusOf(batch.Next()) == CCCL_CACHE_UNAVAILABLE);
  CHECK(dying.connections() == 2);
}

TEST_CASE("a batch without unfinished builds closes its stream") {
  std::promise<void> ended;
  StandInAnswers answers;
  answers.many = [&](grpc::ServerContext* context, Many* stream) {
    Echo(context, stream);
    ended.set_value();
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("a"), 1).ok());
  CHECK(CubinOf(batch.Next()) == "a");
  CHECK(ended.get_future().wait_for(20s) == std::future_status::ready);
}

TEST_CASE("builds refused for lack of room are sent again at the daemon's retry time") {
  std::atomic<int> refused{0};
  StandInAnswers answers;
  answers.many = [&](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      if (refused++ < 5) {
        Refuse(stream, request.tag(), "overloaded", 10);
      } else {
        Reply(stream, request.tag(), SourceOf(request));
      }
    }
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  std::set<std::string> cubins;
  for (uint64_t tag = 0; tag < 4; ++tag) REQUIRE(batch.Add(Source(std::to_string(tag)), tag).ok());
  while (const auto finished = batch.Next()) cubins.insert(CubinOf(finished));
  CHECK(cubins == std::set<std::string>{"0", "1", "2", "3"});
  CHECK(refused == 9);
}

TEST_CASE("a build that never gets room ends at its own deadline, with the reason") {
  StandInAnswers answers;
  answers.many = [&](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) Refuse(stream, request.tag(), "overloaded", 10);
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("a"), 1, {.timeout = 200ms}).ok());
  const auto finished = batch.Next();
  CHECK(StatusOf(finished) == CCCL_CACHE_DEADLINE);
  CHECK(finished->result.error().message.find("for a reason") != std::string::npos);
}

TEST_CASE("a refusal without a retry time is final") {
  StandInAnswers answers;
  answers.many = [&](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) Refuse(stream, request.tag(), SourceOf(request), 0);
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("overloaded"), 1).ok());
  CHECK(StatusOf(batch.Next()) == CCCL_CACHE_OVERLOADED);
  REQUIRE(batch.Add(Source("unavailable"), 2).ok());
  CHECK(StatusOf(batch.Next()) == CCCL_CACHE_UNAVAILABLE);
}

TEST_CASE("new builds do not wait for a closing stream") {
  std::atomic<int> streams{0};
  std::promise<void> asked;
  std::promise<void> let;
  auto allowed = let.get_future().share();
  StandInAnswers answers;
  answers.many = [&, allowed](auto* context, Many* stream) {
    if (streams++ > 0) return Echo(context, stream);
    v1::BuildManyRequest request;
    stream->Read(&request);
    asked.set_value();
    allowed.wait();
    Reply(stream, request.tag(), SourceOf(request));
    return Echo(context, stream);
  };
  const TemporaryDirectory directory;
  const std::string socket = directory / "socket";
  StandInDaemon old(directory / "old", answers);
  StandInDaemon next(directory / "next", answers);
  std::filesystem::create_symlink(old.socket(), socket);
  Client client = OpenClient(socket);
  Batch batch = *Batch::Open(client);
  REQUIRE(batch.Add(Source("old"), 1).ok());
  asked.get_future().wait();
  std::filesystem::remove(socket);
  std::filesystem::create_symlink(next.socket(), socket);
  std::thread stops([&] { old.Stop(60s); });
  // Until the old daemon announces its end, the client sends the new build to it, and the build
  // times out.
  std::optional<Batch::Finished> finished;
  for (int tries = 0; tries < 100 && !(finished && finished->result.ok()); ++tries) {
    REQUIRE(batch.Add(Source("new"), 2, {.timeout = 100ms}).ok());
    finished = batch.Next();
  }
  let.set_value();
  CHECK(CubinOf(finished) == "new");
  CHECK(CubinOf(batch.Next()) == "old");
  stops.join();
}

TEST_CASE("a batch that waits for a pause or an answer does not keep its descriptor readable") {
  StandInAnswers answers;
  std::promise<void> let;
  auto allowed = let.get_future().share();
  std::atomic<int> refused{0};
  answers.many = [&, allowed](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      if (SourceOf(request) == "held") {
        allowed.wait();
        Reply(stream, request.tag(), "held");
      } else if (refused++ == 0) {
        Refuse(stream, request.tag(), "overloaded", 1);
      } else {
        Reply(stream, request.tag(), "other");
      }
    }
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("other"), 1).ok());
  CHECK(CubinOf(batch.Next()) == "other");
  REQUIRE(batch.Add(Source("held"), 2).ok());
  int woken = 0;
  while (IsReadable(batch, 300ms)) {
    REQUIRE_FALSE(batch.Next(0ms));
    REQUIRE(++woken < 100);
  }
  let.set_value();
  CHECK(CubinOf(batch.Next()) == "held");
}

}  // namespace batch_pace_test
