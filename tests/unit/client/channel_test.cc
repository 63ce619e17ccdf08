// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/channel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <thread>

#include "cccl_cache/client.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/wait_until.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace channel_test {

using cccl_cache::BuildResult;
using cccl_cache::Client;
using cccl_cache::Error;
using cccl_cache::Expected;
using cccl_cache::Kind;
using cccl_cache::NvrtcBuild;
using cccl_cache::daemon::TemporaryDirectory;
using cccl_cache::daemon::WaitUntil;
using namespace std::chrono_literals;

namespace {

Expected<BuildResult> Build(Client& client, std::chrono::milliseconds timeout = 60s) {
  return client.Build(NvrtcBuild{.source = "x"}, {.timeout = timeout});
}

StandInAnswers Hits(std::atomic<int>* calls = nullptr) {
  StandInAnswers answers;
  answers.build = [calls](auto*, const auto&, v1::BuildReply* reply) {
    if (calls != nullptr) ++*calls;
    *reply = HitWithCubin("cubin");
    return grpc::Status::OK;
  };
  return answers;
}

Error ErrorOf(const Expected<BuildResult>& result) {
  REQUIRE_FALSE(result.ok());
  return result.error();
}

}  // namespace

TEST_CASE("an error has the daemon's name, text and retry time") {
  const TemporaryDirectory directory;
  StandInAnswers answers;
  answers.build = [](grpc::ServerContext* context, const auto&, auto*) {
    context->AddTrailingMetadata("cccl-error", "overloaded");
    context->AddTrailingMetadata("cccl-retry-ms", "1500");
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full\n100%: \xc3\xa9");
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const Error error = ErrorOf(Build(*client));
  CHECK(error.status == CCCL_CACHE_OVERLOADED);
  CHECK(error.message == "the queue is full\n100%: \xc3\xa9");
  CHECK(error.retry_after_ms == 1500);
}

TEST_CASE("a call without an answer ends at its deadline, and is cancelled at the server") {
  const TemporaryDirectory directory;
  std::atomic<int> asked{0};
  std::atomic<int> cancelled{0};
  StandInAnswers answers;
  answers.build = [&](grpc::ServerContext* context, const auto&, auto*) {
    ++asked;
    if (WaitUntil([&] { return context->IsCancelled(); })) ++cancelled;
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  // If the deadline passes before the server has seen the call, the test tries again with more
  // time.
  for (auto timeout = 100ms; asked == 0 && timeout < 20s; timeout *= 2) {
    const auto start = std::chrono::steady_clock::now();
    CHECK(ErrorOf(Build(*client, timeout)).status == CCCL_CACHE_DEADLINE);
    CHECK(std::chrono::steady_clock::now() - start < timeout + 20s);
  }
  REQUIRE(asked > 0);
  CHECK(WaitUntil([&] { return cancelled == asked; }));
}

TEST_CASE("the server gets the caller's timeout") {
  const TemporaryDirectory directory;
  std::chrono::system_clock::time_point deadline;
  StandInAnswers answers = Hits();
  answers.build = [&](grpc::ServerContext* context, const auto&, v1::BuildReply* reply) {
    deadline = context->deadline();
    *reply = HitWithCubin("");
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  const auto before = std::chrono::system_clock::now();
  REQUIRE(Build(*client, 100s).ok());
  CHECK(deadline > before + 60s);
  CHECK(deadline < std::chrono::system_clock::now() + 101s);
}

TEST_CASE("a call that a stopping server ends is sent to the next one, once") {
  const TemporaryDirectory directory;
  std::atomic<int> asked{0};
  StandInAnswers answers;
  answers.build = [&](auto*, const auto&, v1::BuildReply* reply) {
    if (++asked != 2) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "Cancelling all calls");
    *reply = HitWithCubin("");
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  CHECK(Build(*client).ok());
  const Error error = ErrorOf(Build(*client));
  CHECK(asked == 4);
  CHECK(error.status == CCCL_CACHE_UNAVAILABLE);
  CHECK(error.message == "the daemon stopped before it answered");
}

TEST_CASE("a stopping server finishes the call in progress") {
  const TemporaryDirectory directory;
  std::promise<void> entered;
  std::promise<void> stopping;
  auto stop_seen = stopping.get_future().share();
  StandInAnswers answers;
  answers.build = [&](auto*, const auto&, v1::BuildReply* reply) {
    entered.set_value();
    stop_seen.wait();
    *reply = HitWithCubin("late");
    return grpc::Status::OK;
  };
  StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  auto build = std::async(std::launch::async, [&] { return Build(*client); });
  entered.get_future().wait();
  std::thread stop([&] { daemon.Stop(30s); });
  // gRPC removes its socket when it begins to stop.
  while (access(daemon.socket().c_str(), F_OK) == 0) std::this_thread::yield();
  stopping.set_value();
  const auto result = build.get();
  stop.join();
  REQUIRE(result.ok());
  CHECK(result->artifact(Kind::kCubin) == "late");
}

/// Makes the daemon answer each call but the second with `refuse`. Checks that the client sends
/// each refused call exactly once more.
void CheckAskedOnceMore(const std::function<grpc::Status(grpc::ServerContext*)>& refuse) {
  const TemporaryDirectory directory;
  std::atomic<int> calls{0};
  StandInAnswers answers;
  answers.build = [&](grpc::ServerContext* context, const auto&, v1::BuildReply* reply) {
    *reply = HitWithCubin("cubin");
    return ++calls == 2 ? grpc::Status::OK : refuse(context);
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  CHECK(Build(*client).ok());
  CHECK(calls == 2);
  CHECK(ErrorOf(Build(*client)).message == "it stops");
  CHECK(calls == 4);
}

TEST_CASE("a call that a stopping daemon refuses is sent again, once") {
  CheckAskedOnceMore([](grpc::ServerContext* context) {
    context->AddTrailingMetadata("cccl-error", "unavailable");
    context->AddTrailingMetadata("cccl-retry-ms", "1");
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "it stops");
  });
}

TEST_CASE("a call that a stopping daemon cancels is sent again, once") {
  CheckAskedOnceMore([](auto*) { return grpc::Status(grpc::StatusCode::CANCELLED, "it stops"); });
}

TEST_CASE("a daemon that was restarted is found again") {
  const TemporaryDirectory directory;
  std::atomic<int> calls{0};
  StandInDaemon daemon(directory / "socket", Hits(&calls));
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  for (int i = 1; i <= 3; ++i) {
    REQUIRE(Build(*client).ok());
    daemon.Stop();
    CHECK(ErrorOf(Build(*client)).status == CCCL_CACHE_NO_DAEMON);
    daemon.Start();
    REQUIRE(Build(*client).ok());
    CHECK(calls == 2 * i);
  }
}

TEST_CASE("each thread that shares a client gets its own answer") {
  const TemporaryDirectory directory;
  StandInAnswers answers;
  answers.build = [](auto*, const v1::BuildRequest& request, v1::BuildReply* reply) {
    *reply = HitWithCubin(request.nvrtc().source().inline_bytes());
    return grpc::Status::OK;
  };
  const StandInDaemon daemon(directory / "socket", answers);
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        const std::string source(static_cast<size_t>(1 + i * 977), static_cast<char>('a' + thread));
        const auto result = client->Build(NvrtcBuild{.source = source});
        if (result.ok() && result->artifact(Kind::kCubin) == source) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 400);
}

TEST_CASE("a forked child uses the client on another connection") {
  const TemporaryDirectory directory;
  StandInDaemon daemon(directory / "socket", Hits());
  auto client = Client::Open({.socket = daemon.socket(), .fallback = CCCL_CACHE_FALLBACK_ERROR});
  REQUIRE(Build(*client).ok());
  const pid_t child = fork();
  if (child == 0) {
    const bool both = Build(*client).ok() && Build(*client).ok();
    _exit(both ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(Build(*client).ok());
}

}  // namespace channel_test
