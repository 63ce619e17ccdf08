// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "cli/build_report.h"
#include "tests/unit/cli/said.h"

using namespace cccl_cache::cli;

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

TEST_CASE("an option that the compiler does not know can be left out") {
  for (const Compiler compiler : {Compiler::kNvrtc, Compiler::kNvJitLink, Compiler::kNvvm}) {
    const CompilePlan plan = For(compiler, "sm_90");
    CHECK(Has(FailureHint(plan, "error: unrecognized option --frob"), "has no such option"));
    CHECK(Has(FailureHint(plan, "unsupported option --frob"), "has no such option"));
  }
}

TEST_CASE("libNVVM calls a wrong architecture an unsupported option, and is not believed") {
  const CompilePlan plan = For(Compiler::kNvvm, "sm_90a");
  CHECK(FailureHint(plan, "libnvvm : error: -arch=sm_90a is an unsupported option") ==
        "libNVVM takes --arch compute_90");
  CHECK(FailureHint(For(Compiler::kNvvm, "compute_90"), "bad -arch=compute_90").empty());
}

TEST_CASE("an architecture that is written otherwise is spelled out") {
  CHECK(FailureHint(For(Compiler::kNvrtc, "sm90"), kWrongArchitecture) ==
        "--arch is written sm_90, or compute_90 for PTX alone");
  CHECK(FailureHint(For(Compiler::kNvrtc, "9.0"), kWrongArchitecture) ==
        "--arch is written sm_90, or compute_90 for PTX alone");
  CHECK(FailureHint(For(Compiler::kNvrtc, "hopper"), kWrongArchitecture) ==
        "--arch is written sm_90, or compute_90 for PTX alone");
  CHECK(FailureHint(For(Compiler::kNvrtc, "sm_"), kWrongArchitecture) ==
        "--arch is written sm_90, or compute_90 for PTX alone");
}

TEST_CASE("of several architectures each has a build of its own") {
  for (const Compiler compiler : {Compiler::kNvrtc, Compiler::kNvJitLink, Compiler::kNvvm}) {
    for (const char* several : {"sm_90,sm_80", "sm_90a,sm_100", "compute_90;compute_80", "80 90"}) {
      CHECK(FailureHint(For(compiler, several), kWrongArchitecture) ==
            "--arch takes one architecture, such as sm_90: run a build for each");
    }
  }
}

TEST_CASE("an architecture that this toolchain does not know is one for another toolchain") {
  for (const char* known : {"sm_120", "sm_90a", "compute_120"}) {
    CHECK(Has(FailureHint(For(Compiler::kNvrtc, known), kWrongArchitecture),
              std::string("this toolchain knows no ") + known));
  }
}

TEST_CASE("nvJitLink's words about LTO-IR name the option to write") {
  const CompilePlan plan = For(Compiler::kNvJitLink, "compute_90");
  CHECK(FailureHint(plan, "use link time optimization (-lto)") ==
        "LTO-IR is linked with --option=-lto");
  CHECK(FailureHint(plan, "-ptx requires -lto") == "--emit ptx links LTO-IR, with --option=-lto");
  CHECK(FailureHint(plan, "a virtual arch requires -ptx") ==
        "--arch compute_90 goes with --emit ptx, a cubin is made by --arch sm_90");
}

TEST_CASE("an input that nvJitLink can't read is newer or damaged") {
  const CompilePlan plan = For(Compiler::kNvJitLink, "sm_90");
  CHECK(Has(FailureHint(plan, "may need newer version of nvJitLink"), "of a newer CUDA"));
  for (const char* log :
       {"bad input", "NVJITLINK_ERROR_INVALID_INPUT", "nvvmCompileProgram error 9: parse error"}) {
    CHECK(Has(FailureHint(plan, log), "damaged"));
  }
  CHECK(FailureHint(plan, "nvvmCompileProgram error: out of registers").empty());
}

TEST_CASE("a header that NVRTC can't open is one of the host's, or its directory is missing") {
  const CompilePlan plan = For(Compiler::kNvrtc, "sm_90");
  for (const char* log : {"k.cu(1): error: cannot open source file \"cstdio\"",
                          "error: could not open source file \"stdlib.h\" (no directories)"}) {
    CHECK(Has(FailureHint(plan, log), "<cuda/std/"));
  }
  const std::string own = FailureHint(plan, "error: cannot open source file \"a/missing.h\"");
  CHECK(Has(own, "no a/missing.h in"));
  CHECK(Has(own, "-I"));
}

TEST_CASE("what nvcc takes and NVRTC refuses is told with the way to write it") {
  const CompilePlan plan = For(Compiler::kNvrtc, "sm_90");
  CHECK(Has(FailureHint(plan, "host functions are not allowed in JIT mode."), "device code only"));
  CHECK(Has(FailureHint(plan, "ptxas fatal   : Unresolved extern function '_Z1gi'"), "-rdc=true"));
  CHECK(Has(FailureHint(plan, "ptxas fatal   : Unknown option '-include-path'"), "a value"));
}

TEST_CASE("code that is wrong gets no hint: the compiler said it") {
  for (const Compiler compiler : {Compiler::kNvrtc, Compiler::kNvJitLink, Compiler::kNvvm}) {
    CHECK(FailureHint(For(compiler, "sm_90"), "k.cu(1): error: expected a \";\"").empty());
    CHECK(FailureHint(For(compiler, "sm_90"), "").empty());
  }
  // It speaks of an architecture of its own.
  CHECK(FailureHint(For(Compiler::kNvrtc, "sm_90"), "error: search failed").empty());
}
