// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/worker/compilers/compiler_jobs.h"

namespace cccl_cache::daemon::nvrtc_test {
namespace {

using cccl_cache::ArtifactKind;

/// An NVRTC that records its arguments.
struct Fake {
  std::string calls;
  std::string fails;
  std::string log;
  std::string ptx = "ptx";
  std::string cubin = "cubin";
  int pch_status = NvrtcLibrary::kSuccess;
};
Fake fake;

int Answer(const std::string& call, const std::string& arguments = "") {
  fake.calls += (fake.calls.empty() ? "" : " ") + call + arguments;
  return fake.fails == call ? 6 : NvrtcLibrary::kSuccess;
}

int TextSize(const std::string& text, size_t* size) {
  *size = text.size() + 1;
  return NvrtcLibrary::kSuccess;
}
int Text(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return NvrtcLibrary::kSuccess;
}

int Create(NvrtcLibrary::Program* program, const char* source, const char* name, int header_count,
           const char* const* headers, const char* const* names) {
  static int handle;
  *program = reinterpret_cast<NvrtcLibrary::Program>(&handle);
  std::string all = std::string(source) + " as " + (name == nullptr ? "null" : name);
  for (int i = 0; i < header_count; ++i) {
    all += std::string(" ") + names[i] + "=" + headers[i];
  }
  return Answer("create", "(" + all + ")");
}

/// Returns the functions of a release that has only PTX and cubins.
NvrtcLibrary Library() {
  using Program = NvrtcLibrary::Program;
  fake = Fake();
  NvrtcLibrary library = {};
  library.error_string = [](int result) { return result == 6 ? "NVRTC_ERROR_SIX" : "?"; };
  library.create_program = Create;
  library.add_name_expression = [](Program, const char* expression) {
    return Answer("expression", "(" + std::string(expression) + ")");
  };
  library.compile_program = [](Program, int count, const char* const* options) {
    std::string all;
    for (int i = 0; i < count; ++i) all += (i == 0 ? "" : " ") + std::string(options[i]);
    return Answer("compile", "(" + all + ")");
  };
  library.log_size = [](Program, size_t* size) { return TextSize(fake.log, size); };
  library.log = [](Program, char* to) { return Text(fake.log, to); };
  library.lowered_name = [](Program, const char*, const char** lowered) {
    *lowered = "_Z1f";
    return Answer("lowered");
  };
  library.ptx_size = [](Program, size_t* size) { return TextSize(fake.ptx, size); };
  library.ptx = [](Program, char* to) { return Text(fake.ptx, to); };
  library.cubin_size = [](Program, size_t* size) {
    *size = fake.cubin.size();
    return NvrtcLibrary::kSuccess;
  };
  library.cubin = [](Program, char* to) {
    std::memcpy(to, fake.cubin.data(), fake.cubin.size());
    return NvrtcLibrary::kSuccess;
  };
  library.supported_arch_count = [](int* count) {
    *count = 2;
    return NvrtcLibrary::kSuccess;
  };
  library.supported_archs = [](int* architectures) {
    architectures[0] = 75;
    architectures[1] = 90;
    return NvrtcLibrary::kSuccess;
  };
  library.pch_create_status = [](Program) { return fake.pch_status; };
  return library;
}

WorkerJob Job() {
  WorkerJob job;
  job.options = {"-arch=sm_90", "-G"};
  job.source = "source";
  job.program_name = "k.cu";
  job.headers = {{"a.h", "A"}, {"b.h", "B"}};
  job.name_expressions = {"f<int>"};
  return job;
}

TEST_CASE("NVRTC is called as a client would: program, headers, expressions, options") {
  const WorkerReply reply = RunNvrtcJob(Job(), Library());
  CHECK(reply.succeeded);
  CHECK(fake.calls ==
        "create(source as k.cu a.h=A b.h=B) expression(f<int>) compile(-arch=sm_90 -G) lowered");
  CHECK(reply.lowered_names ==
        std::vector<std::pair<std::string, std::string>>{{"f<int>", "_Z1f"}});
}

TEST_CASE("a reply has the architectures if the release can list them") {
  NvrtcLibrary library = Library();
  CHECK(RunNvrtcJob(Job(), library).architectures == std::vector<uint32_t>{75, 90});
  library.supported_archs = nullptr;
  CHECK(RunNvrtcJob(Job(), library).architectures.empty());
}

TEST_CASE("a program without a name gets NVRTC's default name") {
  WorkerJob job = Job();
  job.program_name = "";
  CHECK(RunNvrtcJob(job, Library()).succeeded);
  CHECK(fake.calls.find("source as null") != std::string::npos);
}

TEST_CASE("the reply lacks the outputs that NVRTC did not make") {
  const WorkerReply both = RunNvrtcJob(Job(), Library());
  REQUIRE(both.parts.size() == 2);
  CHECK(both.parts[0] == WorkerReply::Part{ArtifactKind::kPtx, "ptx"});
  CHECK(both.parts[1] == WorkerReply::Part{ArtifactKind::kCubin, "cubin"});
  const NvrtcLibrary library = Library();
  fake.cubin = "";
  CHECK(RunNvrtcJob(Job(), library).parts.size() == 1);
}

TEST_CASE("the first failing call of NVRTC ends the job, with a log after the compile") {
  for (const std::string call : {"create", "expression", "compile", "lowered"}) {
    const NvrtcLibrary library = Library();
    fake.fails = call;
    fake.log = "log";
    const WorkerReply reply = RunNvrtcJob(Job(), library);
    CHECK_FALSE(reply.succeeded);
    CHECK(reply.native_code == 6);
    CHECK(reply.native_name == "NVRTC_ERROR_SIX");
    CHECK(reply.log == (call == "compile" || call == "lowered" ? "log" : ""));
    CHECK(reply.parts.empty());
  }
}

TEST_CASE("options for precompiled headers precede the client's and suppress messages") {
  const std::string name(kPchName);
  const std::string silently = " --pch-messages=false --instantiate-templates-in-pch=false ";
  CHECK(RunNvrtcJob(Job(), Library(), PchUse::kRead).succeeded);
  CHECK(fake.calls.find("--use-pch=" + name + silently) < fake.calls.find("-G)"));
  fake.calls.clear();
  CHECK(RunNvrtcJob(Job(), Library(), PchUse::kWrite).succeeded);
  CHECK(fake.calls.find("--create-pch=" + name + silently) < fake.calls.find("-G)"));
}

TEST_CASE("a failed precompilation fails only its own job") {
  const NvrtcLibrary library = Library();
  fake.pch_status = 6;
  CHECK_FALSE(RunNvrtcJob(Job(), library, PchUse::kWrite).succeeded);
  CHECK(RunNvrtcJob(Job(), library, PchUse::kRead).succeeded);
  NvrtcLibrary old = library;
  old.pch_create_status = nullptr;
  CHECK(RunNvrtcJob(Job(), old, PchUse::kWrite).succeeded);
}

}  // namespace
}  // namespace cccl_cache::daemon::nvrtc_test
