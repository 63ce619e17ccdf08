// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/fallback.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "cccl_cache/batch.h"
#include "cccl_cache/client.h"
#include "proto/options/options.h"
#include "tests/unit/client/fake_compiler.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace fallback_test {

using cccl_cache::BuildResult;
using cccl_cache::Client;
using cccl_cache::ClientOptions;
using cccl_cache::Expected;
using cccl_cache::NvrtcBuild;
using cccl_cache::Outcome;
using cccl_cache::daemon::TemporaryDirectory;
using namespace std::chrono_literals;

namespace {

/// A client whose local compiler always succeeds.
struct Scene {
  Expected<BuildResult> Build(std::chrono::milliseconds timeout = 60s,
                              cccl_cache::OnMiss on_miss = cccl_cache::OnMiss::kWait) {
    if (!client) client.emplace(*Client::Open(options));
    return client->Build(NvrtcBuild{.source = "x"}, {.timeout = timeout, .on_miss = on_miss});
  }

  TemporaryDirectory directory;
  std::string socket = directory / "socket";
  std::string compiler = WriteFakeCompiler(directory, AnswerLocal());
  ClientOptions options{.socket = socket, .local_compiler = compiler, .quiet_fallback = true};
  std::optional<Client> client;
};

StandInAnswers Refuses(std::string name, std::string reason = "the daemon's reason") {
  StandInAnswers answers;
  answers.build = [name, reason](grpc::ServerContext* context, const auto&, auto*) {
    context->AddTrailingMetadata("cccl-error", name);
    return grpc::Status(grpc::StatusCode::INTERNAL, reason);
  };
  return answers;
}

StandInAnswers Answers(v1::Outcome outcome) {
  StandInAnswers answers;
  answers.build = [outcome](auto*, const auto&, v1::BuildReply* reply) {
    *reply = HitWithCubin("cubin");
    reply->set_outcome(outcome);
    return grpc::Status::OK;
  };
  return answers;
}

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("without a daemon a build is compiled locally, with the reason") {
  Scene scene;
  const auto result = scene.Build();
  REQUIRE(result.ok());
  CHECK(result->outcome() == Outcome::kLocal);
  CHECK(result->compiled());
  CHECK(cccl_cache_outcome_name(result->info().outcome) == std::string("local"));
  CHECK(result->log() == "told");
  CHECK(Has(result->reason(), "no cccl-cached listens"));
  CHECK(result->info().total_us > 0);
}

TEST_CASE("without local builds, a missing daemon is an error") {
  Scene scene;
  scene.options.fallback = CCCL_CACHE_FALLBACK_ERROR;
  const auto result = scene.Build();
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().status == CCCL_CACHE_NO_DAEMON);
}

TEST_CASE("the error without a daemon and a local compiler names both") {
  Scene scene;
  const std::string nowhere = scene.directory / "nowhere";
  scene.options.local_compiler = nowhere;
  const auto result = scene.Build();
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().status == CCCL_CACHE_NO_DAEMON);
  CHECK(Has(result.error().message, "no cccl-cached listens"));
  CHECK(Has(result.error().message, nowhere));
}

TEST_CASE("an error of a local compile includes why the build was compiled locally") {
  Scene scene;
  WriteFakeCompiler(scene.directory, AnswerError("toolchain-not-found", "none is here"));
  const auto result = scene.Build();
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().status == CCCL_CACHE_TOOLCHAIN_NOT_FOUND);
  CHECK(Has(result.error().message, "none is here"));
  CHECK(Has(result.error().message, "no cccl-cached listens"));
}

TEST_CASE("an error that the daemon and the local compile share is reported once") {
  Scene scene;
  const StandInDaemon daemon(scene.socket, Refuses("invalid-request", "no such option"));
  WriteFakeCompiler(scene.directory, AnswerError("invalid-request", "no such option"));
  const auto result = scene.Build();
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().status == CCCL_CACHE_INVALID_REQUEST);
  CHECK(result.error().message == "no such option");
}

TEST_CASE("equal errors of the daemon and the local compile are merged, others are not") {
  using cccl_cache::Error;
  using cccl_cache::Fallback;
  const auto after = [](const char* here, const char* daemon) {
    return Fallback::AfterLocal(Error{CCCL_CACHE_INVALID_REQUEST, here},
                                Error{CCCL_CACHE_INVALID_REQUEST, daemon})
        .message;
  };
  CHECK(after("no option", "no option [request 7f]") == "no option");
  CHECK(Has(after("no option", "no option of nvJitLink"), "no option of nvJitLink"));
  CHECK(Has(after("", "no option"), "no option"));
  CHECK(Has(after("", " [request 7f]"), "[request 7f]"));
}

TEST_CASE("a build that the daemon refuses is compiled locally") {
  const std::string name =
      GENERATE("overloaded", "unavailable", "denied", "files-needed", "toolchain-not-found",
               "invalid-request", "timed-out", "out-of-memory", "cancelled", "of a later version");
  Scene scene;
  const StandInDaemon daemon(scene.socket, Refuses(name));
  const auto result = scene.Build();
  CAPTURE(name);
  REQUIRE(result.ok());
  CHECK(result->outcome() == Outcome::kLocal);
  CHECK(Has(result->reason(), "the daemon's reason"));
}

TEST_CASE("the reason for a local compile lacks the daemon's advice to compile locally") {
  Scene scene;
  const std::string advice(cccl_cache::kLocalBuildAdvice);
  const StandInDaemon daemon(scene.socket,
                             Refuses("invalid-request", "--time writes a file" + advice));
  const auto result = scene.Build();
  REQUIRE(result.ok());
  CHECK(Has(result->reason(), "--time writes a file"));
  CHECK_FALSE(Has(result->reason(), "fallback"));
}

TEST_CASE("a build that crashed the compiler is not tried locally") {
  Scene scene;
  const StandInDaemon daemon(scene.socket, Refuses("worker-crashed"));
  const auto result = scene.Build();
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().status == CCCL_CACHE_WORKER_CRASHED);
}

TEST_CASE("a build with on_miss refuse is not compiled locally, with or without a daemon") {
  Scene scene;
  const auto alone = scene.Build(60s, cccl_cache::OnMiss::kRefuse);
  CHECK(alone.error().status == CCCL_CACHE_NO_DAEMON);
  StandInDaemon daemon(scene.socket, Refuses("not-cached"));
  const auto missed = scene.Build(60s, cccl_cache::OnMiss::kRefuse);
  CHECK(missed.error().status == CCCL_CACHE_NOT_CACHED);
  cccl_cache::Batch batch = *cccl_cache::Batch::Open(*scene.client);
  REQUIRE(batch.Add(NvrtcBuild{.source = "x"}, 1, {.on_miss = cccl_cache::OnMiss::kRefuse}).ok());
  CHECK_FALSE(batch.Next()->result.ok());
}

TEST_CASE("a daemon's reply is final, including a compile failure") {
  for (const auto& [sent, seen] : {std::pair(v1::OUTCOME_HIT, Outcome::kHit),
                                   std::pair(v1::OUTCOME_UNCACHEABLE, Outcome::kUncacheable),
                                   std::pair(v1::OUTCOME_FAILED, Outcome::kFailed)}) {
    Scene scene;
    const StandInDaemon daemon(scene.socket, Answers(sent));
    const auto result = scene.Build();
    REQUIRE(result.ok());
    CHECK(result->outcome() == seen);
  }
}

TEST_CASE("a daemon without an answer within local_after is not asked for a while") {
  Scene scene;
  std::atomic<int> calls{0};
  StandInAnswers answers;
  answers.build = [&calls](grpc::ServerContext* context, const auto&, auto*) {
    ++calls;
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  };
  const StandInDaemon daemon(scene.socket, answers);
  scene.options.local_after = 50ms;
  const auto first = scene.Build();
  REQUIRE(first.ok());
  CHECK(first->outcome() == Outcome::kLocal);
  CAPTURE(first->reason());
  CHECK(Has(first->reason(), "in time"));
  // Each pause is longer than the one before, so soon a build falls into one.
  for (bool rested = false; !rested;) {
    const auto next = scene.Build();
    REQUIRE(next.ok());
    CHECK(next->outcome() == Outcome::kLocal);
    rested = Has(next->reason(), "asked again soon");
  }
}

TEST_CASE("the caller's timeout bounds both the daemon and the local compile") {
  Scene scene;
  StandInAnswers answers;
  answers.build = [](grpc::ServerContext* context, const auto&, auto*) {
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  };
  auto daemon = std::make_unique<StandInDaemon>(scene.socket, answers);
  auto result = scene.Build(50ms);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().status == CCCL_CACHE_DEADLINE);
  daemon.reset();
  WriteFakeCompiler(scene.directory, "while :; do :; done\n");
  result = scene.Build(50ms);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().status == CCCL_CACHE_DEADLINE);
}

TEST_CASE("after a caller's own timeout the daemon is asked again") {
  Scene scene;
  std::atomic<bool> busy{true};
  StandInAnswers answers = Answers(v1::OUTCOME_BUILT);
  answers.build = [&busy, built = answers.build](grpc::ServerContext* context, const auto& request,
                                                 auto* reply) {
    while (busy && !context->IsCancelled()) std::this_thread::yield();
    return built(context, request, reply);
  };
  const StandInDaemon daemon(scene.socket, answers);
  REQUIRE_FALSE(scene.Build(50ms).ok());
  busy = false;
  CHECK(scene.Build()->outcome() == Outcome::kBuilt);
}

TEST_CASE("a daemon that starts later is asked") {
  Scene scene;
  CHECK(scene.Build()->outcome() == Outcome::kLocal);
  const StandInDaemon daemon(scene.socket, Answers(v1::OUTCOME_BUILT));
  CHECK(scene.Build()->outcome() == Outcome::kBuilt);
}

}  // namespace fallback_test
