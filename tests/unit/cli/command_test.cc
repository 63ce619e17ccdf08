// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/command.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace command_test {

using namespace cccl_cache::cli;
using cccl_cache::Error;
using cccl_cache::JsonWriter;

TEST_CASE("an error is one printable line on stderr, and nothing on standard output") {
  const std::string message = "it \x1b[2J broke\nbadly";
  const Said said = Listen([&] { return Fail(Error{CCCL_CACHE_UNAVAILABLE, message}, {}); });
  CHECK(said.errors == "cccl-cache-cli: it ?[2J broke?badly\n");
  CHECK(said.output.empty());
}

TEST_CASE("no daemon, a refusal and other errors have different exit codes") {
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

TEST_CASE("an overloaded daemon's retry time is printed as text and in JSON") {
  const CommonOptions json = {.json = true};
  const Said said = Listen([&] {
    return Fail(Error{CCCL_CACHE_OVERLOADED, "the queue is full", 250}, json);
  });
  CHECK(said.errors == "cccl-cache-cli: the queue is full; come back in 250 ms\n");
  CHECK(Has(said.output, "\"status\": \"overloaded\""));
  CHECK(Has(said.output, "\"message\": \"the queue is full\""));
  CHECK(Has(said.output, "\"retry_ms\": 250"));
}

TEST_CASE("a usage error has its own exit code, and is also printed as JSON") {
  const CommonOptions json = {.json = true};
  const Said said = Listen([&] { return FailUsage("name a file", json); });
  CHECK(said.exit_code == 2);
  CHECK(said.errors == "cccl-cache-cli: name a file\n");
  CHECK(Has(said.output, "\"status\": \"invalid-request\""));
}

TEST_CASE("a standard output that can't be written is an error with its cause") {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  const Said said = ListenBeside(full, [] { return Print("text"); });
  close(full);
  CHECK(said.exit_code == 5);
  CHECK(said.errors == "cccl-cache-cli: can't write to standard output: No space left on device\n");
}

namespace {

std::string Written(const cccl_cache::Error& error) {
  JsonWriter json;
  json.BeginObject();
  WriteError(error, &json);
  return json.EndObject().Finish();
}

}  // namespace

TEST_CASE("an error in JSON has the name of its status, and its message") {
  CHECK(Written({CCCL_CACHE_DENIED, "not yours"}) ==
        "{\n  \"error\": {\n    \"status\": \"denied\",\n    \"message\": \"not yours\"\n  }\n}\n");
}

TEST_CASE("a retry time is shown only if the daemon gave one") {
  const std::string key = "\"retry_ms\"";
  CHECK(Written({CCCL_CACHE_OVERLOADED, "full"}).find(key) == std::string::npos);
  CHECK(Written({CCCL_CACHE_OVERLOADED, "full", 40}).find(key + ": 40") != std::string::npos);
}

namespace {

std::string Told(const std::vector<std::string>& words) {
  const Said said = RunCommand(words);
  CHECK(said.exit_code == 2);
  return said.errors;
}

}  // namespace

TEST_CASE("the error of an unknown command suggests the nearest command, or lists all") {
  CHECK(Told({"biuld"}).starts_with("cccl-cache-cli: no command is called biuld"));
  CHECK(Has(Told({"biuld"}), "build"));
  CHECK_FALSE(Has(Told({"biuld"}), "toolchains"));
  const std::string all = Told({"frobnicate"});
  CHECK(Has(all, "there are build, link, nvvm"));
  CHECK(Has(all, "(cccl-cache-cli --help)"));
}

TEST_CASE("the error of an unknown subcommand names its command") {
  const std::string told = Told({"snapshot", "creat"});
  CHECK(Has(told, "snapshot: no command is called creat"));
  CHECK(Has(told, "(cccl-cache-cli snapshot --help)"));
}

TEST_CASE("a missing command's error lists the commands") {
  CHECK(Has(Told({}), "name a command: build, link"));
  CHECK(Has(Told({"deposits"}), "name a command: list, remove"));
}

TEST_CASE("an unknown option is named without its value") {
  const std::string told = Told({"stats", "--openmetric=yes"});
  CHECK(Has(told, "stats knows no option --openmetric"));
  CHECK(Has(told, "--openmetrics"));
  CHECK_FALSE(Has(told, "--option="));
}

TEST_CASE("the error of an unknown option of build mentions the compiler's options") {
  const std::string told = Told({"build", "k.cu", "--arch", "sm_90", "--maxrregcount=32"});
  CHECK(Has(told, "one for the compiler is written --option=--maxrregcount=32"));
  CHECK(Has(told, "(cccl-cache-cli build --help)"));
}

TEST_CASE("a superfluous argument is named, and a wrong value has its own error") {
  CHECK(Has(Told({"stats", "now"}), "stats takes no argument now here ("));
  CHECK(Has(Told({"build", "a.cu", "b.cu", "--arch", "sm_90"}), "b.cu here: it compiles one FILE"));
  CHECK(Has(Told({"build", "k.cu", "--arch", "sm_90", "--emit", "elf"}),
            "\"elf\" is not one of cubin, ptx"));
}

TEST_CASE("an option with too few or too many values is named in plain words") {
  for (const std::string option : {"--arch", "--socket"}) {
    const std::string told = Told({"build", "k.cu", option});
    CHECK(Has(told, option + ": needs a value"));
    CHECK_FALSE(Has(told, "required"));
  }
  CHECK(Has(Told({"build", "k.cu", "--arch", "sm_90", "--emit"}), "(cubin|ptx"));
  CHECK(Has(Told({"build", "k.cu", "--arch", "sm_90", "--arch", "sm_80"}), "--arch: give it once"));
  CHECK(Has(Told({"--json=foo", "stats"}), "--json: takes no value"));
}

TEST_CASE("a value that is no number is named with its option") {
  const std::string told = Told({"snapshot", "create", "a.snap", "--uid", "alice"});
  CHECK(Has(told, "--uid: \"alice\" is not a whole number"));
}

}  // namespace command_test
