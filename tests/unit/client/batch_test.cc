// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cccl_cache/batch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <future>
#include <map>
#include <set>
#include <string>

#include "tests/unit/client/batch_scene.h"

namespace batch_test {

using cccl_cache::Batch;
using cccl_cache::Client;
using cccl_cache::LinkBuild;
using cccl_cache::NvrtcBuild;
using cccl_cache::NvvmBuild;
using cccl_cache::daemon::TemporaryDirectory;
using namespace std::chrono_literals;

TEST_CASE("builds of a batch finish in whatever order they are answered") {
  StandInAnswers answers;
  answers.many = [](auto*, Many* stream) {
    std::map<std::string, uint64_t> tags;
    v1::BuildManyRequest request;
    while (tags.size() < 3 && stream->Read(&request)) tags[SourceOf(request)] = request.tag();
    for (const std::string source : {"c", "a", "b"}) Reply(stream, tags[source], source);
    while (stream->Read(&request)) {
    }
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("a"), 1).ok());
  REQUIRE(batch.Add(Source("b"), 2).ok());
  REQUIRE(batch.Add(Source("c"), 3).ok());
  CHECK(batch.pending() == 3);
  std::string order;
  while (const auto finished = batch.Next()) {
    order += std::to_string(finished->tag) + CubinOf(finished) + " ";
  }
  CHECK(order == "3c 1a 2b ");
  CHECK(batch.pending() == 0);
}

TEST_CASE("a batch takes all kinds of builds, and copies their texts") {
  StandInAnswers answers;
  answers.many = [](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      const v1::BuildRequest& build = request.build();
      if (build.has_nvrtc()) Reply(stream, request.tag(), SourceOf(request));
      if (build.has_link()) {
        Reply(stream, request.tag(), build.link().inputs(0).contents().inline_bytes());
      }
      if (build.has_nvvm()) {
        Reply(stream, request.tag(), build.nvvm().modules(0).contents().inline_bytes());
      }
    }
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  {
    std::string source = "source";
    std::string input = SomeBytes(100'000);
    std::string module = "module";
    REQUIRE(batch.Add(Source(source), 1).ok());
    REQUIRE(batch.Add(LinkBuild{.inputs = {{CCCL_CACHE_INPUT_ANY, "i", input}}}, 2).ok());
    REQUIRE(batch.Add(NvvmBuild{.modules = {{"m", module}}}, 3).ok());
    source.assign(source.size(), '!');
    input.assign(input.size(), '!');
    module.assign(module.size(), '!');
  }
  std::map<uint64_t, std::string> cubins;
  while (const auto finished = batch.Next()) cubins[finished->tag] = CubinOf(finished);
  CHECK(cubins ==
        std::map<uint64_t, std::string>{{1, "source"}, {2, SomeBytes(100'000)}, {3, "module"}});
}

TEST_CASE("Next returns no result if no build is pending, or none has finished in time") {
  StandInAnswers answers;
  std::promise<void> let;
  auto allowed = let.get_future().share();
  answers.many = [allowed](auto* context, Many* stream) {
    allowed.wait();
    return Echo(context, stream);
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  CHECK_FALSE(batch.Next());
  REQUIRE(batch.Add(Source("a"), 1).ok());
  CHECK_FALSE(batch.Next(0ms));
  CHECK(batch.pending() == 1);
  let.set_value();
  CHECK(CubinOf(batch.Next()) == "a");
  CHECK_FALSE(batch.Next());
}

TEST_CASE("the descriptor of a batch is readable when a build has finished") {
  StandInAnswers answers;
  std::promise<void> let;
  auto allowed = let.get_future().share();
  answers.many = [allowed](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      if (SourceOf(request) == "late") allowed.wait();
      Reply(stream, request.tag(), SourceOf(request));
    }
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  CHECK_FALSE(IsReadable(batch, 0ms));
  REQUIRE(batch.Add(Source("late"), 1).ok());
  // Messages about the connection may make the descriptor readable although no build has finished.
  while (IsReadable(batch, 200ms)) REQUIRE_FALSE(batch.Next(0ms));
  let.set_value();
  REQUIRE(IsReadable(batch, 20s));
  std::optional<Batch::Finished> finished;
  while (IsReadable(batch, 20s) && !(finished = batch.Next(0ms))) {
  }
  CHECK(CubinOf(finished) == "late");
}

TEST_CASE("a finished build keeps the descriptor readable") {
  StandInAnswers answers;
  answers.many = Echo;
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("a"), 1).ok());
  REQUIRE(batch.Add(Source("b"), 2).ok());
  REQUIRE(batch.Next());
  CHECK(IsReadable(batch, 20s));
  REQUIRE(batch.Next());
  CHECK_FALSE(batch.Next());
}

TEST_CASE("a failed build has its error under its tag, and the others continue") {
  StandInAnswers answers;
  answers.many = [](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      if (SourceOf(request) == "bad") {
        Refuse(stream, request.tag(), "denied", 250);
      } else {
        Reply(stream, request.tag(), "good");
      }
    }
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("bad"), 1).ok());
  const auto bad = batch.Next();
  CHECK(StatusOf(bad) == CCCL_CACHE_DENIED);
  CHECK(bad->tag == 1);
  CHECK(bad->result.error().message == "for a reason");
  CHECK(bad->result.error().retry_after_ms == 250);
  REQUIRE(batch.Add(Source("good"), 2).ok());
  CHECK(CubinOf(batch.Next()) == "good");
}

TEST_CASE("a text that can't be sent is refused before anything is added") {
  StandInAnswers answers;
  answers.many = Echo;
  BatchScene scene(answers);
  Batch batch = scene.Open();
  const auto refused = batch.Add(NvrtcBuild{.options = {std::string("a\0b", 3)}}, 1);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().status == CCCL_CACHE_INVALID_REQUEST);
  CHECK(batch.pending() == 0);
}

TEST_CASE("the cancellation of one build reaches the daemon, and the others continue") {
  std::promise<uint64_t> asked;
  std::promise<uint64_t> cancelled;
  StandInAnswers answers;
  answers.many = [&](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
      if (request.cancel()) {
        cancelled.set_value(request.tag());
        // As if the answer was sent before the cancellation arrived; the client drops the answer.
        Reply(stream, request.tag(), "late");
      } else if (SourceOf(request) == "hang") {
        asked.set_value(request.tag());
      } else {
        Reply(stream, request.tag(), SourceOf(request));
      }
    }
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("hang"), 1).ok());
  REQUIRE(batch.Add(Source("other"), 2).ok());
  CHECK(CubinOf(batch.Next()) == "other");
  batch.Cancel(1);
  const auto gone = batch.Next();
  CHECK(StatusOf(gone) == CCCL_CACHE_CANCELLED);
  CHECK(gone->tag == 1);
  REQUIRE(batch.Add(Source("more"), 1).ok());
  CHECK(CubinOf(batch.Next()) == "more");
  CHECK(cancelled.get_future().get() == asked.get_future().get());
}

TEST_CASE("a build after its deadline is given up, and the descriptor becomes readable") {
  StandInAnswers answers;
  answers.many = [](auto*, Many* stream) {
    v1::BuildManyRequest request;
    while (stream->Read(&request)) {
    }
    return grpc::Status::OK;
  };
  BatchScene scene(answers);
  Batch batch = scene.Open();
  REQUIRE(batch.Add(Source("slow"), 1, {.timeout = 100ms}).ok());
  std::optional<Batch::Finished> finished;
  while (!finished && IsReadable(batch, 20s)) finished = batch.Next(0ms);
  CHECK(StatusOf(finished) == CCCL_CACHE_DEADLINE);
}

TEST_CASE("without a daemon each build fails at once") {
  const TemporaryDirectory directory;
  Client client = OpenClient(directory / "socket");
  Batch batch = *Batch::Open(client);
  REQUIRE(batch.Add(Source("a"), 1).ok());
  REQUIRE(batch.Add(Source("b"), 2).ok());
  CHECK(StatusOf(batch.Next()) == CCCL_CACHE_NO_DAEMON);
  CHECK(StatusOf(batch.Next()) == CCCL_CACHE_NO_DAEMON);
  CHECK_FALSE(batch.Next());
}

TEST_CASE("a forked child can free a batch without effect on the parent's builds") {
  std::promise<void> let;
  auto allowed = let.get_future().share();
  StandInAnswers answers;
  answers.many = [allowed](auto* context, Many* stream) {
    allowed.wait();
    return Echo(context, stream);
  };
  BatchScene scene(answers);
  auto batch = std::make_unique<Batch>(scene.Open());
  REQUIRE(batch->Add(Source("a"), 1).ok());
  CHECK_FALSE(batch->Next(0ms));
  const pid_t child = fork();
  if (child == 0) {
    const bool refused =
        !batch->Add(Source("b"), 2).ok() && !batch->Next(0ms) && batch->pending() == 0;
    batch.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  let.set_value();
  CHECK(CubinOf(batch->Next()) == "a");
}

TEST_CASE("each of a thousand builds of one batch gets its own result") {
  StandInAnswers answers;
  answers.many = Echo;
  BatchScene scene(answers);
  Batch batch = scene.Open();
  constexpr uint64_t kBuilds = 1000;
  for (uint64_t tag = 0; tag < kBuilds; ++tag) {
    REQUIRE(batch.Add(Source(std::to_string(tag) + SomeBytes(tag * 37)), tag).ok());
  }
  std::set<uint64_t> right;
  while (const auto finished = batch.Next()) {
    if (CubinOf(finished) == std::to_string(finished->tag) + SomeBytes(finished->tag * 37)) {
      right.insert(finished->tag);
    }
  }
  CHECK(right.size() == kBuilds);
}

}  // namespace batch_test
