// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "daemon/compile/protocol/packet.h"
#include "tests/unit/compile/compile_fixture.h"
#include "tests/unit/compile/fake_job_files.h"

namespace cccl_cache::daemon::worker_files_test {
namespace {

using Catch::Matchers::Contains;
using cccl_cache::ArtifactKind;
using Clock = std::chrono::steady_clock;

/// Runs jobs of the fake compiler. Their include directory exists only in `files`.
struct Scene {
  Scene() { files->AddFile("/cccl-root-1/a.h", "alpha"); }

  Result<CompileOutput> Compile(const std::string& source,
                                CompileLimits limits = CompileFixture::SmallLimits(),
                                std::stop_token stop = {}) {
    CompileJob job = fixture.NvrtcJob(source, {"-arch=sm_90", "-I/cccl-root-1"});
    job.mounts = {{"/cccl-root-0", "", false}, {"/cccl-root-1", "", false}};
    job.files = files;
    job.account = account;
    return fixture.compiler.Compile(job, limits, std::move(stop));
  }
  std::string Ptx(const std::string& source) { return PartOf(Compile(source), ArtifactKind::kPtx); }
  [[nodiscard]] bool NothingHangs() const {
    const auto deadline = Clock::now() + std::chrono::minutes(1);
    while (fixture.compiler.hung_reads() != 0) {
      if (Clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  CompileFixture fixture;
  Account account{geteuid()};
  std::shared_ptr<FakeJobFiles> files = std::make_shared<FakeJobFiles>();
};

TEST_CASE("a compiler reads files from the daemon") {
  Scene scene;
  CHECK_THAT(scene.Ptx("//fake: open /cccl-root-1/a.h"), Contains("alpha"));
  CHECK_THAT(scene.Ptx("#include <a.h>\n"), Contains("compiler 13.0"));
  CHECK_THAT(scene.Ptx("//fake: stat /cccl-root-1/a.h\n//fake: stat /cccl-root-1"),
             Contains("file of 5 bytes") && Contains("directory"));
  CHECK_THAT(scene.Ptx("//fake: open /cccl-root-1/b.h\n//fake: stat /nowhere"),
             Contains("b.h: absent") && Contains("nowhere: absent"));
}

TEST_CASE("a job asks for each name once, and keeps \"..\" in names") {
  Scene scene;
  scene.Ptx(
      "//fake: stat /cccl-root-1/a.h\n//fake: open /cccl-root-1/./a.h\n"
      "//fake: open /cccl-root-1//x/../a.h\n//fake: stat b.h\n//fake: stat b.h");
  CHECK(scene.files->asked() ==
        std::vector<std::string>{"/cccl-root-1/a.h", "/cccl-root-1/x/../a.h", "/cccl-work/b.h"});
}

TEST_CASE("a job that opens no file asks nothing") {
  Scene scene;
  CHECK(scene.Compile("").ok());
  CHECK(scene.files->asked().empty());
}

TEST_CASE("the toolchain's own headers are not asked for") {
  Scene scene;
  const std::string include = scene.fixture.toolkit->root() + "/include";
  CHECK_THAT(scene.Ptx("//fake: stat " + include + "/cuda_runtime.h"), Contains("file of"));
  CHECK(scene.files->asked().empty());
  CHECK_THAT(scene.Ptx("//fake: stat " + include + "/../lib"), Contains("absent"));
  CHECK(scene.files->asked() == std::vector<std::string>{include + "/../lib"});
}

TEST_CASE("files of any size arrive whole") {
  Scene scene;
  const size_t first = BytesInFirstPacket(UINT64_MAX);
  const size_t next = BytesInNextPacket(UINT64_MAX);
  std::string source;
  for (const size_t size : {size_t{0}, size_t{1}, first, first + 1, first + next, first + next + 1,
                            size_t{5'000'000}}) {
    const std::string name = "/cccl-root-1/" + std::to_string(size);
    scene.files->AddFile(name, std::string(size, 'x') + "end");
    source += "//fake: open " + name + "\n//fake: stat " + name + "\n";
  }
  const std::string ptx = scene.Ptx(source);
  CHECK_THAT(ptx, Contains("file of 5000003 bytes"));
  CHECK(std::count(ptx.begin(), ptx.end(), 'x') >= 5'000'000);
  CHECK_THAT(ptx, Contains("xend"));
}

TEST_CASE("the error of a file becomes the job's error, unchanged") {
  Scene scene;
  for (const ErrorCode code :
       {ErrorCode::kFilesNeeded, ErrorCode::kDenied, ErrorCode::kUnavailable}) {
    scene.files->Refuse("/cccl-root-1/a.h", Error{code, "no such luck"});
    const size_t asked_before = scene.files->asked().size();
    const Result<CompileOutput> output = scene.Compile("#include <a.h>\n//fake: spin");
    REQUIRE(!output.ok());
    CHECK(output.error().code == code);
    CHECK(output.error().message == "no such luck");
    const std::vector<std::string> asked = scene.files->asked();
    CHECK(std::count(asked.begin() + asked_before, asked.end(), "/cccl-root-1/a.h") == 1);
  }
  CHECK(scene.Compile("").ok());
}

TEST_CASE("hanging_disk: a job ends at its deadline, and the error names the awaited file") {
  Scene scene;
  REQUIRE(scene.fixture.compiler.Warm(*scene.fixture.toolchain).ok());
  scene.files->HangAt("/cccl-root-1/a.h");
  CompileLimits limits = CompileFixture::SmallLimits();
  limits.time = std::chrono::milliseconds(300);
  const Clock::time_point start = Clock::now();
  const Result<CompileOutput> output = scene.Compile("#include <a.h>\n", limits);
  CHECK(Clock::now() - start < std::chrono::seconds(5));
  REQUIRE(!output.ok());
  CHECK(output.error().code == ErrorCode::kTimedOut);
  CHECK_THAT(output.error().message, Contains("\"/cccl-root-1/a.h\""));
  CHECK(scene.fixture.compiler.hung_reads() == 1);
  scene.files->Release();
  CHECK(scene.NothingHangs());
}

TEST_CASE("hanging_disk: a cancelled job ends at once") {
  Scene scene;
  scene.files->HangAt("/cccl-root-1/a.h");
  std::stop_source stop;
  std::jthread impatient([&] {
    CHECK(scene.files->WaitUntilHanging());
    stop.request_stop();
  });
  const Result<CompileOutput> output =
      scene.Compile("#include <a.h>\n", CompileFixture::SmallLimits(), stop.get_token());
  REQUIRE(!output.ok());
  CHECK(output.error().code == ErrorCode::kCancelled);
  scene.files->Release();
  CHECK(scene.NothingHangs());
}

TEST_CASE("hanging_disk: a user with the maximum of hung reads gets no files; other users do") {
  Scene scene;
  REQUIRE(scene.fixture.compiler.Warm(*scene.fixture.toolchain).ok());
  scene.files->HangAt("/cccl-root-1/a.h");
  CompileLimits limits = CompileFixture::SmallLimits();
  limits.time = std::chrono::milliseconds(1);
  const auto deadline = Clock::now() + std::chrono::minutes(1);
  while (scene.fixture.compiler.hung_reads() < HungReads::kMaxPerUid && Clock::now() < deadline) {
    (void)scene.Compile("#include <a.h>\n", limits).ok();
    limits.time = std::min(limits.time * 2, std::chrono::milliseconds(50));
  }
  REQUIRE(scene.fixture.compiler.hung_reads() == HungReads::kMaxPerUid);
  const Result<CompileOutput> refused = scene.Compile("//fake: stat /cccl-root-1/b.h");
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnavailable);
  CHECK_THAT(refused.error().message, Contains("16") && Contains("hang"));
  CHECK(scene.Compile("").ok());
  scene.account = Account(geteuid() + 1);
  CHECK(scene.Compile("//fake: stat /cccl-root-1/b.h").ok());
  scene.account = Account(geteuid());
  scene.files->Release();
  CHECK(scene.NothingHangs());
  CHECK(scene.Compile("//fake: stat /cccl-root-1/b.h").ok());
}

TEST_CASE("a compromised compiler that sends invalid questions fails its job") {
  Scene scene;
  for (const char* source :
       {"//fake: stat /cccl-root-1/a.h\n//fake: flood",
        "//fake: stat /cccl-root-1/a.h\n//fake: say nonsense", "//fake: say /cccl-root-1/a.h"}) {
    INFO(source);
    const Result<CompileOutput> output = scene.Compile(source);
    REQUIRE(!output.ok());
    CHECK(output.error().code == ErrorCode::kWorkerCrashed);
  }
  CHECK(scene.Compile("").ok());
}

TEST_CASE("a job with files leaves no descriptor or thread behind, however it ends") {
  Scene scene;
  REQUIRE(scene.Compile("#include <a.h>\n").ok());
  const size_t descriptors = OpenDescriptors();
  scene.files->Refuse("/cccl-root-1/refused.h", Error{ErrorCode::kDenied, "no"});
  for (const char* source :
       {"", "#include <a.h>\n", "#include <refused.h>\n", "#include <a.h>\n//fake: crash",
        "#include <a.h>\n//fake: flood", "//fake: say /cccl-root-1/a.h"}) {
    (void)scene.Compile(source).ok();
  }
  CHECK(scene.NothingHangs());
  CHECK(OpenDescriptors() == descriptors);
}

}  // namespace
}  // namespace cccl_cache::daemon::worker_files_test
