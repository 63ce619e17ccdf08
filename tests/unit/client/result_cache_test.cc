// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/result_cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cccl_cache/build.h"
#include "tests/unit/client/canned_replies.h"

namespace result_cache_test {

using cccl_cache::BuildReply;
using cccl_cache::Message;
using cccl_cache::NvrtcBuild;
using cccl_cache::RequestMessage;
using cccl_cache::ResultCache;
using namespace std::chrono_literals;

namespace {

using Reply = std::shared_ptr<const BuildReply>;

Reply Answer(const std::string& cubin, bool closed = true) {
  v1::BuildReply reply = HitWithCubin(cubin);
  reply.set_closed(closed);
  const std::string bytes = reply.SerializeAsString();
  Message message = Message::WithRoomFor(bytes.size());
  std::memcpy(message.bytes.get(), bytes.data(), bytes.size());
  return std::make_shared<const BuildReply>(*BuildReply::Decode(std::move(message)));
}

/// Calls `then` with the message of a build.
template <typename Then>
auto WithRequest(const NvrtcBuild& build, Then then) {
  return cccl_cache::c::With(build, [&](const auto& program) {
    RequestMessage request;
    CHECK(request.SetProgram(program).ok());
    return then(std::as_const(request));
  });
}

void Keep(ResultCache& memory, const NvrtcBuild& build, Reply reply,
          ResultCache::Clock::time_point now = ResultCache::Clock::now()) {
  const auto name = WithRequest(build, [&](const auto& request) { return memory.NameOf(request); });
  memory.Keep(name, std::move(reply), now);
}

Reply Find(ResultCache& memory, const NvrtcBuild& build,
           ResultCache::Clock::time_point now = ResultCache::Clock::now()) {
  return WithRequest(build, [&](const auto& request) { return memory.Find(request, now); });
}

}  // namespace

TEST_CASE("a closed reply is kept for the same request, and its bytes are shared") {
  ResultCache memory(1 << 20);
  const Reply answer = Answer("cubin");
  Keep(memory, {.source = "x"}, answer);
  CHECK(Find(memory, {.source = std::string_view("xyz").substr(0, 1)}) == answer);
  CHECK(Find(memory, {.source = "x"}) == answer);
  CHECK(memory.statistics().hits == 2);
  CHECK(Find(memory, {.source = "y"}) == nullptr);
  CHECK(memory.statistics().hits == 2);
}

TEST_CASE("a reply that depends on outside files is not kept") {
  ResultCache memory(1 << 20);
  Keep(memory, {.source = "x"}, Answer("cubin", false));
  CHECK(Find(memory, {.source = "x"}) == nullptr);
  CHECK(memory.statistics().entries == 0);
}

TEST_CASE("a cache that is turned off keeps nothing") {
  ResultCache memory(0);
  Keep(memory, {.source = "x"}, Answer("cubin"));
  CHECK(Find(memory, {.source = "x"}) == nullptr);
}

TEST_CASE("an answer expires ten seconds after its request, however recently it was used") {
  ResultCache memory(1 << 20);
  const auto start = ResultCache::Clock::now();
  Keep(memory, {.source = "x"}, Answer("old"), start);
  CHECK(Find(memory, {.source = "x"}, start + 9s) != nullptr);
  CHECK(Find(memory, {.source = "x"}, start + 10s) == nullptr);
  const Reply fresh = Answer("new");
  Keep(memory, {.source = "x"}, fresh, start + 10s);
  CHECK(Find(memory, {.source = "x"}, start + 19s) == fresh);
  CHECK(memory.statistics().entries == 1);
}

TEST_CASE("the least recently used reply is evicted when there is no room for all") {
  const std::string cubin(20'000, 'c');
  ResultCache memory(100'000);
  for (const char* source : {"a", "b", "c", "d"}) Keep(memory, {.source = source}, Answer(cubin));
  CHECK(memory.statistics().entries == 4);
  CHECK(Find(memory, {.source = "a"}) != nullptr);
  Keep(memory, {.source = "e"}, Answer(cubin));
  CHECK(memory.statistics().entries == 4);
  CHECK(memory.statistics().bytes <= 100'000);
  CHECK(Find(memory, {.source = "b"}) == nullptr);
  for (const char* source : {"a", "c", "d", "e"})
    CHECK(Find(memory, {.source = source}) != nullptr);
}

TEST_CASE("one large reply evicts no others") {
  ResultCache memory(100'000);
  Keep(memory, {.source = "a"}, Answer("small"));
  Keep(memory, {.source = "large"}, Answer(std::string(30'000, 'c')));
  CHECK(Find(memory, {.source = "large"}) == nullptr);
  CHECK(Find(memory, {.source = "a"}) != nullptr);
}

TEST_CASE("an evicted answer lives as long as its holders") {
  ResultCache memory(100'000);
  Keep(memory, {.source = "a"}, Answer(std::string(20'000, 'a')));
  const Reply held = Find(memory, {.source = "a"});
  for (const char* source : {"b", "c", "d", "e", "f"}) {
    Keep(memory, {.source = source}, Answer(std::string(20'000, 'c')));
  }
  CHECK(Find(memory, {.source = "a"}) == nullptr);
  CHECK((held->contents(0) == std::string(20'000, 'a')));
}

TEST_CASE("threads that find and keep at once get the right answers") {
  ResultCache memory(200'000);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const std::string source = std::to_string(i % 20);
        const Reply found = Find(memory, {.source = source});
        if (found == nullptr) {
          Keep(memory, {.source = source}, Answer(source + std::string(20'000, '.')));
        } else if (!found->contents(0).starts_with(source + ".")) {
          ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(memory.statistics().bytes <= 200'000);
}

TEST_CASE("a child forked during a call does not hang, and can destroy the cache") {
  auto owned = std::make_unique<ResultCache>(1 << 20);
  ResultCache& memory = *owned;
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      Keep(memory, {.source = "x"}, Answer("cubin"));
      Find(memory, {.source = "x"});
    }
  });
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string_view source = "x";
      const cccl_cache_nvrtc program = {sizeof(program), {source.data(), source.size()}};
      RequestMessage request;
      static_cast<void>(request.SetProgram(program));
      static_cast<void>(memory.Find(request));
      owned.reset();
      _exit(0);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
  stop = true;
  busy.join();
}

}  // namespace result_cache_test
