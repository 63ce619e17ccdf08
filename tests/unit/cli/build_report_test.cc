// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/build_options.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/cli/fake_library.h"
#include "tests/unit/cli/said.h"

namespace build_report_test {

using namespace cccl_cache::cli;
using cccl_cache::Kind;

namespace {

CompilePlan For(Compiler compiler, const std::string& architecture) {
  CompilePlan plan;
  plan.compiler = compiler;
  plan.architecture = architecture;
  return plan;
}

constexpr const char* kWrongArchitecture =
    "nvrtc: error: invalid value for --gpu-architecture (-arch)";

}  // namespace

TEST_CASE("the hint for an unknown option says that the compiler has no such option") {
  for (const Compiler compiler : {Compiler::kNvrtc, Compiler::kNvJitLink, Compiler::kNvvm}) {
    const CompilePlan plan = For(compiler, "sm_90");
    CHECK(Has(FailureHint(plan, "error: unrecognized option --frob"), "has no such option"));
    CHECK(Has(FailureHint(plan, "unsupported option --frob"), "has no such option"));
  }
}

TEST_CASE("libNVVM's error for a wrong architecture is not taken for an unsupported option") {
  const CompilePlan plan = For(Compiler::kNvvm, "sm_90a");
  CHECK(FailureHint(plan, "libnvvm : error: -arch=sm_90a is an unsupported option") ==
        "libNVVM takes --arch compute_90");
  CHECK(FailureHint(For(Compiler::kNvvm, "compute_90"), "bad -arch=compute_90").empty());
}

TEST_CASE("the hint for a misspelled architecture has the right spelling") {
  CHECK(FailureHint(For(Compiler::kNvrtc, "sm90"), kWrongArchitecture) ==
        "--arch is written sm_90, or compute_90 for PTX alone");
  CHECK(FailureHint(For(Compiler::kNvrtc, "9.0"), kWrongArchitecture) ==
        "--arch is written sm_90, or compute_90 for PTX alone");
  CHECK(FailureHint(For(Compiler::kNvrtc, "hopper"), kWrongArchitecture) ==
        "--arch is written sm_90, or compute_90 for PTX alone");
  CHECK(FailureHint(For(Compiler::kNvrtc, "sm_"), kWrongArchitecture) ==
        "--arch is written sm_90, or compute_90 for PTX alone");
}

TEST_CASE("the hint for several architectures suggests one build for each") {
  for (const Compiler compiler : {Compiler::kNvrtc, Compiler::kNvJitLink, Compiler::kNvvm}) {
    for (const char* several : {"sm_90,sm_80", "sm_90a,sm_100", "compute_90;compute_80", "80 90"}) {
      CHECK(FailureHint(For(compiler, several), kWrongArchitecture) ==
            "--arch takes one architecture, such as sm_90: run a build for each");
    }
  }
}

TEST_CASE("the hint for an unknown architecture suggests another toolchain") {
  for (const char* known : {"sm_120", "sm_90a", "compute_120"}) {
    CHECK(Has(FailureHint(For(Compiler::kNvrtc, known), kWrongArchitecture),
              std::string("this toolchain knows no ") + known));
  }
}

TEST_CASE("the hint for nvJitLink's error about LTO-IR suggests -lto") {
  const CompilePlan plan = For(Compiler::kNvJitLink, "compute_90");
  CHECK(FailureHint(plan, "use link time optimization (-lto)") ==
        "LTO-IR is linked with --option=-lto");
  CHECK(FailureHint(plan, "-ptx requires -lto") == "--emit ptx links LTO-IR, with --option=-lto");
  CHECK(FailureHint(plan, "a virtual arch requires -ptx") ==
        "--arch compute_90 goes with --emit ptx, a cubin is made by --arch sm_90");
}

TEST_CASE("the hint for an unreadable link input says that the input is newer or damaged") {
  const CompilePlan plan = For(Compiler::kNvJitLink, "sm_90");
  CHECK(Has(FailureHint(plan, "may need newer version of nvJitLink"), "of a newer CUDA"));
  for (const char* log :
       {"bad input", "NVJITLINK_ERROR_INVALID_INPUT", "nvvmCompileProgram error 9: parse error"}) {
    CHECK(Has(FailureHint(plan, log), "damaged"));
  }
  CHECK(FailureHint(plan, "nvvmCompileProgram error: out of registers").empty());
}

TEST_CASE("wrong code gets no hint beyond the compiler's message") {
  for (const Compiler compiler : {Compiler::kNvrtc, Compiler::kNvJitLink, Compiler::kNvvm}) {
    CHECK(FailureHint(For(compiler, "sm_90"), "k.cu(1): error: expected a \";\"").empty());
    CHECK(FailureHint(For(compiler, "sm_90"), "").empty());
  }
  // The message has "arch" only within another word.
  CHECK(FailureHint(For(Compiler::kNvrtc, "sm_90"), "error: search failed").empty());
}

namespace {

struct Scene {
  Scene() {
    Library() = FakeLibrary();
    plan.architecture = "sm_90";
    plan.output = directory / "out";
    Library().result.artifacts = {{CCCL_CACHE_PTX, "ptx"}, {CCCL_CACHE_CUBIN, "cubin"}};
  }

  /// Reports the library's result and returns the output.
  [[nodiscard]] Said Tell(const CommonOptions& common = {}) const {
    return Listen([&] {
      auto client = cccl_cache::Client::Open();
      return Report(*client->Build(cccl_cache::NvrtcBuild{}), plan, common, time);
    });
  }

  [[nodiscard]] std::string Written() const {
    std::ifstream file(plan.output, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  cccl_cache::daemon::TemporaryDirectory directory;
  CompilePlan plan;
  std::chrono::microseconds time{700};
};

}  // namespace

TEST_CASE("the requested artifact of a build is written, and the log is shown") {
  Scene scene;
  Library().result.log = "k.cu(1): warning: unused";
  const Said said = scene.Tell();
  CHECK(said.exit_code == 0);
  CHECK(scene.Written() == "cubin");
  CHECK(said.errors == "k.cu(1): warning: unused\n");
  CHECK(said.output.empty());
  scene.plan.kind = Kind::kPtx;
  CHECK(scene.Tell().exit_code == 0);
  CHECK(scene.Written() == "ptx");
}

TEST_CASE("the summary of a build is one line with its outcome and time, or more if asked for") {
  Scene scene;
  CHECK(scene.Tell().errors.empty());
  scene.plan.summary = Summary::kLine;
  CHECK(scene.Tell().errors == "built 0.7 ms\n");
  scene.time = std::chrono::milliseconds(2630);
  Library().result.outcome = CCCL_CACHE_UNCACHEABLE;
  Library().result.reason = "the source has\x1b[2J __TIME__";
  CHECK(scene.Tell().errors == "uncacheable 2.6 s: the source has?[2J __TIME__\n");
  scene.plan.summary = Summary::kDetails;
  CHECK(Has(scene.Tell().errors, "\ntoolchain "));
}

TEST_CASE("with --json a build's log appears once, in the JSON object") {
  Scene scene;
  Library().result.log = "a warning";
  Library().result.lowered_names = {{"f<int>", "_Z1fIiEvv"}};
  const Said said = scene.Tell({.json = true});
  CHECK(said.errors.empty());
  CHECK(Has(said.output, "\"log\": \"a warning\""));
  CHECK(Has(said.output, "\"f<int>\": \"_Z1fIiEvv\""));
  CHECK(Has(said.output, "\"sha256\": \"01fe\""));
  CHECK(Has(said.output, "\"kind\": \"cubin\""));
  CHECK_FALSE(Has(said.output, "\"error\""));
}

TEST_CASE("code that does not compile leaves the file alone and prints the log, then a hint") {
  Scene scene;
  std::ofstream(scene.plan.output) << "old";
  Library().result.outcome = CCCL_CACHE_FAILED;
  Library().result.log = "error: unrecognized option --frob";
  for (const bool json : {false, true}) {
    const Said said = scene.Tell({.json = json});
    CHECK(said.exit_code == 1);
    CHECK(said.errors.starts_with("error: unrecognized option --frob\ncccl-cache-cli: this "));
    CHECK(Has(said.output, "\"outcome\": \"failed\"") == json);
  }
  CHECK(scene.Written() == "old");
}

TEST_CASE("without a hint of its own the command prints the library's hint") {
  Scene scene;
  Library().result = {};
  Library().result.outcome = CCCL_CACHE_FAILED;
  Library().result.log = "error: no header";
  Library().result.hint = "add it";
  for (const Compiler compiler : {Compiler::kNvJitLink, Compiler::kNvvm, Compiler::kNvrtc}) {
    scene.plan.compiler = compiler;
    CHECK(scene.Tell().errors == "error: no header\ncccl-cache-cli: add it\n");
  }
  Library().result.log = "unrecognized option --frob";
  CHECK(Has(scene.Tell().errors, "no such option"));
}

TEST_CASE("a failure without a log is reported by its error's name") {
  const Scene scene;
  Library().result = {};
  Library().result.outcome = CCCL_CACHE_FAILED;
  Library().result.reason = "NVRTC_ERROR_INVALID_INPUT";
  CHECK(Has(scene.Tell().errors, "cccl-cache-cli: does not compile: NVRTC_ERROR_INVALID_INPUT\n"));
}

TEST_CASE("a result without the requested artifact is an error with a remedy") {
  Scene scene;
  scene.plan.kind = Kind::kLtoIr;
  const Said said = scene.Tell({.json = true});
  CHECK(said.exit_code == 5);
  CHECK(Has(said.errors, "the compiler made no ltoir for sm_90: use another --arch"));
  CHECK(Has(said.output, "\"error\": {"));
  CHECK_FALSE(std::filesystem::exists(scene.plan.output));
}

TEST_CASE("an unwritable output file is an error, although the build succeeded") {
  Scene scene;
  scene.plan.output = scene.directory / "absent/out";
  const Said said = scene.Tell();
  CHECK(said.exit_code == 5);
  CHECK(Has(said.errors, "can't create " + scene.plan.output));
}

}  // namespace build_report_test
