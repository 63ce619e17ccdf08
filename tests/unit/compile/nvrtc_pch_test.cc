// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "daemon/compile/protocol/frame.h"
#include "tests/unit/compile/compile_fixture.h"
#include "tests/unit/compile/fake_job_files.h"
#include "tests/unit/compile/real_nvrtc.h"

namespace cccl_cache::daemon::nvrtc_pch_test {
namespace {

using cccl_cache::ArtifactKind;

const std::string kBegin = "#include \"a.h\"\n#define TWO 2\n";
const std::vector<std::string> kOptions = {"-arch=sm_90"};

/// Returns a job with a header that the compiler asks the daemon for.
CompileJob JobOf(RealNvrtc& nvrtc, const std::string& source,
                 std::vector<std::string> options = kOptions,
                 const std::string& header = "static __device__ int One() { return 1; }\n") {
  CompileJob job = nvrtc.Job(source, std::move(options));
  auto files = std::make_shared<FakeJobFiles>();
  files->AddFile("/cccl-root-0/a.h", header);
  job.files = files;
  return job;
}

std::string Kernel(const std::string& value) {
  return kBegin + "extern \"C\" __global__ void k(int* p) { *p = TWO + One() + " + value + "; }\n";
}

TEST_CASE("a program compiles to the same bytes with and without a precompiled header") {
  RealNvrtc nvrtc;
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"-dlto", "-rdc=true"}, {"-lineinfo"}, {"-G"}}) {
    std::vector<std::string> options = more;
    options.insert(options.end(), {"-arch=sm_90", "-frandom-seed=1"});
    const auto precompiled = nvrtc.Precompile(JobOf(nvrtc, kBegin, options));
    REQUIRE(precompiled.ok());
    CHECK((*precompiled)->bytes() > 0);
    CHECK((*precompiled)->usable());
    for (const char* value : {"3", "4"}) {
      CompileJob job = JobOf(nvrtc, Kernel(value), options);
      job.program_name = "/cccl-root-0/another.cu";
      const Result<CompileOutput> whole = nvrtc.Compile(job);
      job.precompiled = *precompiled;
      const Result<CompileOutput> spared = nvrtc.Compile(job);
      REQUIRE(whole.ok());
      REQUIRE(spared.ok());
      CHECK(whole->succeeded);
      CHECK(spared->succeeded);
      CHECK(spared->artifact->log == whole->artifact->log);
      REQUIRE(spared->artifact->parts.size() == whole->artifact->parts.size());
      for (size_t i = 0; i < whole->artifact->parts.size(); ++i) {
        CAPTURE(options, value, static_cast<int>(whole->artifact->parts[i].kind));
        CHECK((spared->artifact->parts[i].bytes == whole->artifact->parts[i].bytes));
      }
    }
  }
}

TEST_CASE("a compile with a precompiled header does not ask for its includes") {
  RealNvrtc nvrtc;
  const auto precompiled = nvrtc.Precompile(JobOf(nvrtc, kBegin));
  REQUIRE(precompiled.ok());
  CompileJob job = JobOf(nvrtc, Kernel("3"));
  job.files = std::make_shared<FakeJobFiles>();
  job.precompiled = *precompiled;
  const Result<CompileOutput> output = nvrtc.Compile(job);
  REQUIRE(output.ok());
  CHECK(output->succeeded);
}

TEST_CASE("a precompiled header is refused for a program with another beginning") {
  RealNvrtc nvrtc;
  const auto precompiled = nvrtc.Precompile(JobOf(nvrtc, kBegin));
  REQUIRE(precompiled.ok());
  CompileJob job = JobOf(nvrtc, "#define TWO 3\n" + Kernel("1"));
  job.precompiled = *precompiled;
  const Result<CompileOutput> output = nvrtc.Compile(job);
  REQUIRE_FALSE(output.ok());
  CHECK(output.error().code == ErrorCode::kUnavailable);
}

TEST_CASE("a preamble with compiler diagnostics is not kept") {
  RealNvrtc nvrtc;
  for (const char* header : {"#warning look out\n", "#error stop\n", "int x = ;\n"}) {
    const auto precompiled = nvrtc.Precompile(JobOf(nvrtc, kBegin, kOptions, header));
    REQUIRE_FALSE(precompiled.ok());
    CHECK(precompiled.error().code == ErrorCode::kUnavailable);
  }
}

TEST_CASE("a program can't detect a precompiled header") {
  RealNvrtc nvrtc;
  const auto precompiled = nvrtc.Precompile(JobOf(nvrtc, kBegin));
  REQUIRE(precompiled.ok());
  const std::string name(kPchName);
  CompileJob job =
      JobOf(nvrtc, kBegin + "#if __has_include(\"" + name + "\")\n#error found\n#endif\n" +
                       Kernel("1").substr(kBegin.size()));
  job.precompiled = *precompiled;
  Result<CompileOutput> output = nvrtc.Compile(job);
  REQUIRE(output.ok());
  CHECK(output->succeeded);
  job = JobOf(nvrtc, kBegin + "#include \"" + name + "\"\n");
  job.precompiled = *precompiled;
  output = nvrtc.Compile(job);
  CHECK_FALSE((output.ok() && output->succeeded));
}

}  // namespace
}  // namespace cccl_cache::daemon::nvrtc_pch_test
