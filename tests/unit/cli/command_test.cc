// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/unit/cli/said.h"

using namespace cccl_cache::cli;
using cccl_cache::Error;

TEST_CASE("an error is one line on stderr, and nothing on standard output") {
  const Said said = Listen([] { return Fail(Error{CCCL_CACHE_UNAVAILABLE, "it broke"}, {}); });
  CHECK(said.errors == "cccl-cache-cli: it broke\n");
  CHECK(said.output.empty());
}

TEST_CASE("the exit code tells no daemon, refused and anything else apart") {
  const auto code = [](cccl_cache_status status) {
    return Listen([=] { return Fail(Error{status, "x"}, {}); }).exit_code;
  };
  CHECK(code(CCCL_CACHE_NO_DAEMON) == 3);
  for (const cccl_cache_status refused :
       {CCCL_CACHE_INVALID_REQUEST, CCCL_CACHE_TOOLCHAIN_NOT_FOUND, CCCL_CACHE_FILES_NEEDED,
        CCCL_CACHE_DENIED, CCCL_CACHE_OVERLOADED, CCCL_CACHE_TOO_LARGE}) {
    CHECK(code(refused) == 4);
  }
  for (const cccl_cache_status other :
       {CCCL_CACHE_TIMED_OUT, CCCL_CACHE_WORKER_CRASHED, CCCL_CACHE_OUT_OF_MEMORY,
        CCCL_CACHE_UNAVAILABLE, CCCL_CACHE_PROTOCOL, CCCL_CACHE_LEASE_LOST}) {
    CHECK(code(other) == 5);
  }
}

TEST_CASE("an overloaded daemon's hint is said in words and in JSON") {
  const CommonOptions json = {.json = true};
  const Said said = Listen([&] {
    return Fail(Error{CCCL_CACHE_OVERLOADED, "the queue is full", 250}, json);
  });
  CHECK(said.errors == "cccl-cache-cli: the queue is full; come back in 250 ms\n");
  CHECK(Has(said.output, "\"status\": \"overloaded\""));
  CHECK(Has(said.output, "\"message\": \"the queue is full\""));
  CHECK(Has(said.output, "\"retry_ms\": 250"));
}

TEST_CASE("a wrong command line has an exit code of its own, and its error is JSON too") {
  const CommonOptions json = {.json = true};
  const Said said = Listen([&] { return FailUsage("name a file", json); });
  CHECK(said.exit_code == 2);
  CHECK(said.errors == "cccl-cache-cli: name a file\n");
  CHECK(Has(said.output, "\"status\": \"invalid-request\""));
}

TEST_CASE("a standard output that takes nothing is an error that is named") {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  const Said said = ListenBeside(full, [] { return Print("text"); });
  close(full);
  CHECK(said.exit_code == 5);
  CHECK(said.errors == "cccl-cache-cli: can't write to standard output: No space left on device\n");
}
