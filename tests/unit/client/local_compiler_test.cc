// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/local_compiler.h"

#include <signal.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_directory.h"
#include "tests/unit/client/fake_compiler.h"

namespace local_compiler_test {

using cccl_cache::BuildReply;
using cccl_cache::Deadline;
using cccl_cache::Error;
using cccl_cache::Expected;
using cccl_cache::LocalCompiler;
using cccl_cache::RequestMessage;
using cccl_cache::daemon::TemporaryDirectory;
using namespace std::chrono_literals;
using cccl_cache::FindLocalCompiler;

namespace {

struct Scene {
  /// Runs one build with the script as its compiler.
  Expected<BuildReply> Run(const std::string& script, Deadline deadline = Deadline::After(60s),
                           std::string_view source = "source") {
    RequestMessage request;
    cccl_cache_nvrtc program = {sizeof(program), {source.data(), source.size()}};
    REQUIRE(request.SetProgram(program).ok());
    auto compiler = LocalCompiler::Start(WriteFakeCompiler(directory, script), &request);
    REQUIRE(compiler.ok());
    return (*compiler)->Finish(deadline);
  }

  Error ErrorOf(const std::string& script) {
    const Expected<BuildReply> reply = Run(script);
    REQUIRE_FALSE(reply.ok());
    return reply.error();
  }

  TemporaryDirectory directory;
};

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a build without a daemon returns the answer of cccl-cache-compile") {
  Scene scene;
  const auto reply = scene.Run(AnswerLocal());
  REQUIRE(reply.ok());
  CHECK(reply->fields().log == "told");
}

TEST_CASE("cccl-cache-compile is sent the whole request, however large") {
  Scene scene;
  const std::string source(5 << 20, 's');
  const std::string seen = scene.directory / "seen";
  const auto reply =
      scene.Run("head -c 5242880 >" + seen + "\n" + AnswerLocal(), Deadline::After(60s), source);
  REQUIRE(reply.ok());
  CHECK(std::filesystem::file_size(seen) == 5242880);
}

TEST_CASE("an error name from cccl-cache-compile becomes the status of that name") {
  Scene scene;
  const Error error = scene.ErrorOf(AnswerError("toolchain-not-found", "none is here"));
  CHECK(error.status == CCCL_CACHE_TOOLCHAIN_NOT_FOUND);
  CHECK(error.message == "none is here");
  CHECK(scene.ErrorOf(AnswerError("of a later version", "x")).status == CCCL_CACHE_UNAVAILABLE);
}

TEST_CASE("the death of cccl-cache-compile is a crash, reported with its signal or exit status") {
  Scene scene;
  Error error = scene.ErrorOf("kill -SEGV $$\n");
  CHECK(error.status == CCCL_CACHE_WORKER_CRASHED);
  CHECK(Has(error.message, "SIGSEGV"));
  error = scene.ErrorOf("exit 3\n");
  CHECK(error.status == CCCL_CACHE_WORKER_CRASHED);
  CHECK(Has(error.message, "exit status 3"));
  CHECK(scene.ErrorOf(ReadRequest() + "printf '\\000\\000\\000' >&0\n").status ==
        CCCL_CACHE_WORKER_CRASHED);
}

TEST_CASE("malformed bytes from cccl-cache-compile are a protocol error") {
  Scene scene;
  CHECK(scene.ErrorOf(ReadRequest() + "printf '\\001junk' >&0\n").status == CCCL_CACHE_PROTOCOL);
  CHECK(scene
            .ErrorOf(ReadRequest() +
                     "printf '\\000\\000\\000\\000\\000\\000\\000\\000\\000\\001x' >&0\n")
            .status == CCCL_CACHE_PROTOCOL);
}

TEST_CASE("the deadline ends cccl-cache-compile") {
  Scene scene;
  const std::string file = scene.directory / "pid";
  auto patience = 100ms;
  do {  // on a busy machine a process starts late
    patience *= 2;
    const auto reply =
        scene.Run("echo $$ >" + file + "\nwhile :; do :; done\n", Deadline::After(patience));
    REQUIRE_FALSE(reply.ok());
    CHECK(reply.error().status == CCCL_CACHE_DEADLINE);
  } while (!std::filesystem::exists(file) || std::filesystem::is_empty(file));
  pid_t pid = 0;
  std::ifstream(file) >> pid;
  CHECK(kill(pid, 0) != 0);
}

TEST_CASE("cccl-cache-compile inherits the needed variables, and no descriptor of the client") {
  Scene scene;
  setenv("CUDA_HOME", "/cuda", 1);
  setenv("CCCL_CACHED_TOOLCHAIN_ROOT", "/other", 1);
  setenv("LD_PRELOAD_OF_OURS", "x", 1);
  const std::string file = scene.directory / "environment";
  REQUIRE(scene.Run("export -p >" + file + "\n" + AnswerLocal()).ok());
  unsetenv("CUDA_HOME");
  unsetenv("CCCL_CACHED_TOOLCHAIN_ROOT");
  unsetenv("LD_PRELOAD_OF_OURS");
  std::ifstream stream(file);
  const std::string seen{std::istreambuf_iterator<char>(stream), {}};
  CHECK(Has(seen, "CUDA_HOME='/cuda'"));
  CHECK(Has(seen, "CCCL_CACHED_TOOLCHAIN_ROOT='/other'"));
  CHECK_FALSE(Has(seen, "LD_PRELOAD"));
}

TEST_CASE("a program that ignores SIGCHLD can build without a daemon") {
  Scene scene;
  const auto former = signal(SIGCHLD, SIG_IGN);
  const bool built = scene.Run(AnswerLocal()).ok();
  const Error error = scene.ErrorOf("exit 3\n");
  signal(SIGCHLD, former);
  CHECK(built);
  CHECK(error.status == CCCL_CACHE_WORKER_CRASHED);
}

TEST_CASE("the error about a compiler that can't be run names the compiler") {
  Scene scene;
  RequestMessage request;
  const auto reply = LocalCompiler::Start(scene.directory / "none", &request);
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().status == CCCL_CACHE_UNAVAILABLE);
  CHECK(Has(reply.error().message, scene.directory / "none"));
}

TEST_CASE("a named compiler is used if it can be run") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory.Write("compiler", "");
  chmod(path.c_str(), 0700);
  CHECK(*FindLocalCompiler(path) == path);
}

TEST_CASE("a named compiler that is missing is not replaced by another") {
  const cccl_cache::daemon::TemporaryDirectory directory;
  const auto found = FindLocalCompiler(directory / "absent");
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().status == CCCL_CACHE_UNAVAILABLE);
  CHECK(found.error().message == "cccl-cache-compile is missing (looked for " +
                                     directory / "absent" + "): install it with the library");
}

TEST_CASE("an unnamed compiler is searched near the library, and the error lists the places") {
  const auto found = FindLocalCompiler("");
  // This program is not installed, but the compiler of its build may be in one of the places.
  if (found.ok()) {
    CHECK(found->find("cccl-cache-compile") != std::string::npos);
  } else {
    CHECK(found.error().message.find("(looked for /") != std::string::npos);
    CHECK(found.error().message.find(", /") != std::string::npos);
  }
}

}  // namespace local_compiler_test
