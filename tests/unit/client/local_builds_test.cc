// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Builds of a batch that are compiled locally.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <future>
#include <set>
#include <thread>

#include "cccl_cache/batch.h"
#include "client/src/calls/batch.h"
#include "tests/unit/client/fake_compiler.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace local_builds_test {

using cccl_cache::Batch;
using cccl_cache::Client;
using cccl_cache::ClientOptions;
using cccl_cache::NvrtcBuild;
using cccl_cache::Outcome;
using cccl_cache::daemon::TemporaryDirectory;
using namespace std::chrono_literals;

namespace {

struct Scene {
  explicit Scene(const std::string& script) : compiler(WriteFakeCompiler(directory, script)) {}

  Batch Open() {
    client.emplace(*Client::Open(options));
    return *Batch::Open(*client);
  }

  TemporaryDirectory directory;
  std::string socket = directory / "socket";
  std::string compiler;
  ClientOptions options{.socket = socket, .local_compiler = compiler, .quiet_fallback = true};
  std::optional<Client> client;
};

NvrtcBuild Source(std::string_view source) { return NvrtcBuild{.source = source}; }

void CheckIsLocal(const std::optional<Batch::Finished>& finished, std::string_view because) {
  REQUIRE(finished);
  REQUIRE(finished->result.ok());
  CHECK(finished->result->outcome() == Outcome::kLocal);
  CHECK(finished->result->log() == "told");
  CHECK(finished->result->reason().find(because) != std::string_view::npos);
  CHECK(finished->result->info().total_us > 0);
}

/// Refuses the builds of this source with the error, and answers all others with a hit.
StandInAnswers RefusingOne(const std::string& source, const std::string& error) {
  StandInAnswers answers;
  answers.many = [=](auto*, auto* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      v1::BuildManyReply reply;
      reply.set_tag(request.tag());
      if (request.build().nvrtc().source().inline_bytes() == source) {
        reply.mutable_error()->set_name(error);
        reply.mutable_error()->set_message(error + " for a reason");
        reply.mutable_error()->set_retry_ms(error == "overloaded" ? 10 : 0);
      } else {
        *reply.mutable_reply() = HitWithCubin("cubin");
      }
      stream->Write(reply);
    }
    return grpc::Status::OK;
  };
  return answers;
}

/// Waits until a script has written a pid to the file. Returns the pid, or 0 after 20 s.
pid_t AwaitPid(const std::string& file) {
  pid_t pid = 0;
  for (int i = 0; i < 20'000 && pid == 0; ++i) {
    std::ifstream(file) >> pid;
    std::this_thread::sleep_for(1ms);
  }
  return pid;
}

}  // namespace

TEST_CASE("without a daemon the builds of a batch are compiled locally") {
  Scene scene(AnswerLocal());
  Batch batch = scene.Open();
  std::set<uint64_t> tags;
  for (uint64_t tag = 0; tag < 20; ++tag) {
    REQUIRE(batch.Add(Source("x"), tag).ok());
    tags.insert(tag);
  }
  while (const auto finished = batch.Next()) {
    CheckIsLocal(finished, "no cccl-cached listens");
    CHECK(tags.erase(finished->tag) == 1);
  }
  CHECK(tags.empty());
}

TEST_CASE("the descriptor of a batch becomes readable after a local compile") {
  Scene scene(AnswerLocal());
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source(std::string(1 << 20, 'x')), 1).ok());
  std::optional<Batch::Finished> finished;
  pollfd waiting = {batch.fd(), POLLIN, 0};
  while (!finished && poll(&waiting, 1, 20'000) == 1) finished = batch.Next(0ms);
  REQUIRE(finished);
}

TEST_CASE("only the builds that the daemon refuses are compiled locally") {
  Scene scene(AnswerLocal());
  StandInDaemon daemon(scene.socket, RefusingOne("refused", "invalid-request"));
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("refused"), 1).ok());
  REQUIRE(batch.Add(Source("taken"), 2).ok());
  for (int i = 0; i < 2; ++i) {
    const auto finished = batch.Next();
    REQUIRE(finished);
    if (finished->tag == 1) {
      CheckIsLocal(finished, "invalid-request for a reason");
    } else {
      REQUIRE(finished->result.ok());
      CHECK(finished->result->outcome() == Outcome::kHit);
    }
  }
}

TEST_CASE("a build that takes the daemon too long is cancelled there and compiled locally") {
  Scene scene(AnswerLocal());
  std::promise<void> cancelled;
  StandInAnswers answers;
  answers.many = [&](auto*, auto* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      if (request.cancel()) cancelled.set_value();
    }
    return grpc::Status::OK;
  };
  StandInDaemon daemon(scene.socket, answers);
  scene.options.local_after = 100ms;
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("slow"), 1).ok());
  CheckIsLocal(batch.Next(), "in time");
  CHECK_FALSE(batch.Next(0ms));
  CHECK(cancelled.get_future().wait_for(20s) == std::future_status::ready);
}

TEST_CASE("a daemon without room is still asked for the next build") {
  Scene scene(AnswerLocal());
  StandInDaemon daemon(scene.socket, RefusingOne("no room", "overloaded"));
  scene.options.local_after = 100ms;
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("no room"), 1).ok());
  CheckIsLocal(batch.Next(), "overloaded for a reason");
  REQUIRE(batch.Add(Source("taken"), 2).ok());
  const auto finished = batch.Next();
  REQUIRE(finished);
  REQUIRE(finished->result.ok());
  CHECK(finished->result->outcome() == Outcome::kHit);
}

TEST_CASE("a cancelled build of a batch ends its local compile") {
  Scene scene("");
  const std::string file = scene.directory / "pid";
  WriteFakeCompiler(scene.directory, "echo $$ >" + file + "\nwhile :; do :; done\n");
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("x"), 1).ok());
  const pid_t pid = AwaitPid(file);
  REQUIRE(pid > 0);
  SECTION("the program cancels it") {
    batch.Cancel(1);
    const auto finished = batch.Next();
    REQUIRE((finished && !finished->result.ok()));
    CHECK(finished->result.error().status == CCCL_CACHE_CANCELLED);
  }
  SECTION("the batch is destroyed") { const Batch gone = std::move(batch); }
  CHECK(kill(pid, 0) != 0);
}

TEST_CASE("a forked child that frees a batch leaves the parent's compilers alone") {
  Scene scene("");
  const std::string file = scene.directory / "pid";
  const std::string gate = scene.directory / "gate";
  WriteFakeCompiler(scene.directory, "echo $$ >" + file + "\nwhile [ ! -e " + gate +
                                         " ]; do :; done\n" + AnswerLocal());
  auto batch = std::make_unique<Batch>(scene.Open());
  REQUIRE(batch->Add(Source("x"), 1).ok());
  REQUIRE(AwaitPid(file) > 0);
  const pid_t child = fork();
  if (child == 0) {
    batch.reset();
    _exit(0);
  }
  REQUIRE(waitpid(child, nullptr, 0) == child);
  std::ofstream(gate) << "open";
  CheckIsLocal(batch->Next(), "no cccl-cached listens");
}

TEST_CASE("the death of a local compiler is a crash, with the reason for the local build") {
  Scene scene("kill -SEGV $$\n");
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("x"), 1).ok());
  const auto finished = batch.Next();
  REQUIRE((finished && !finished->result.ok()));
  CHECK(finished->result.error().status == CCCL_CACHE_WORKER_CRASHED);
  CHECK(finished->result.error().message.find("no cccl-cached listens") != std::string::npos);
}

}  // namespace local_builds_test
