// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/worker/compilers/compiler_jobs.h"

namespace cccl_cache::daemon::nvvm_test {
namespace {

using cccl_cache::ArtifactKind;

/// A libNVVM that records its arguments.
struct Fake {
  std::string calls;  ///< "create add(m=M) lazy(l=L) compile(-a -b)"
  std::string fails;  ///< the call that fails
  std::string log;
  std::string result = "the result";
};
Fake fake;

int Answer(const std::string& call, const std::string& arguments = "") {
  fake.calls += (fake.calls.empty() ? "" : " ") + call + arguments;
  return fake.fails == call ? 9 : NvvmLibrary::kSuccess;
}

std::string Module(const char* contents, size_t size, const char* name) {
  return "(" + std::string(name) + "=" + std::string(contents, size) + ")";
}

/// Returns the size of a text with its zero byte, like CUDA.
int TextSize(const std::string& text, size_t* size) {
  *size = text.size() + 1;
  return NvvmLibrary::kSuccess;
}
int Text(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return NvvmLibrary::kSuccess;
}

NvvmLibrary Library() {
  fake = Fake();
  NvvmLibrary library;
  library.error_string = [](int result) { return result == 9 ? "NVVM_ERROR_NINE" : "?"; };
  library.create_program = [](NvvmLibrary::Program* program) {
    static int handle;
    *program = reinterpret_cast<NvvmLibrary::Program>(&handle);
    return Answer("create");
  };
  library.add_module = [](NvvmLibrary::Program, const char* contents, size_t size,
                          const char* name) { return Answer("add", Module(contents, size, name)); };
  library.lazy_add_module = [](NvvmLibrary::Program, const char* contents, size_t size,
                               const char* name) {
    return Answer("lazy", Module(contents, size, name));
  };
  library.compile_program = [](NvvmLibrary::Program, int count, const char** options) {
    std::string all;
    for (int i = 0; i < count; ++i) all += (i == 0 ? "" : " ") + std::string(options[i]);
    return Answer("compile", "(" + all + ")");
  };
  library.result_size = [](NvvmLibrary::Program, size_t* size) {
    return TextSize(fake.result, size);
  };
  library.result = [](NvvmLibrary::Program, char* to) { return Text(fake.result, to); };
  library.log_size = [](NvvmLibrary::Program, size_t* size) { return TextSize(fake.log, size); };
  library.log = [](NvvmLibrary::Program, char* to) { return Text(fake.log, to); };
  return library;
}

WorkerJob Job() {
  WorkerJob job;
  job.kind = cccl_cache::BuildKind::kNvvm;
  job.options = {"-arch=compute_90", "-opt=3"};
  job.modules = {{false, "m", "M"}, {true, "l", "L"}};
  return job;
}

TEST_CASE("libNVVM is called as a client would: modules in order, then libdevice, then options") {
  WorkerJob job = Job();
  const WorkerReply reply = RunNvvmJob(job, Library(), "DEVICE");
  CHECK(reply.succeeded);
  CHECK(fake.calls == "create add(m=M) lazy(l=L) compile(-arch=compute_90 -opt=3)");
  job.add_libdevice = true;
  CHECK(RunNvvmJob(job, Library(), "DEVICE").succeeded);
  CHECK(fake.calls ==
        "create add(m=M) lazy(l=L) lazy(libdevice=DEVICE) compile(-arch=compute_90 -opt=3)");
}

TEST_CASE("libNVVM's output is PTX without its zero byte, or LTO-IR unchanged") {
  WorkerJob job = Job();
  const WorkerReply ptx = RunNvvmJob(job, Library(), "");
  REQUIRE(ptx.parts.size() == 1);
  CHECK(ptx.parts[0].kind == ArtifactKind::kPtx);
  CHECK(ptx.parts[0].bytes == "the result");
  job.options.push_back("-gen-lto");
  const WorkerReply lto = RunNvvmJob(job, Library(), "");
  REQUIRE(lto.parts.size() == 1);
  CHECK(lto.parts[0].kind == ArtifactKind::kLtoIr);
  CHECK(lto.parts[0].bytes == std::string("the result\0", 11));
}

TEST_CASE("the first failing call of libNVVM ends the job with its result's name and the log") {
  for (const std::string call : {"create", "add", "lazy", "compile"}) {
    const NvvmLibrary library = Library();
    fake.fails = call;
    fake.log = "line 1";
    const WorkerReply reply = RunNvvmJob(Job(), library, "");
    CHECK_FALSE(reply.succeeded);
    CHECK(reply.native_code == 9);
    CHECK(reply.native_name == "NVVM_ERROR_NINE");
    CHECK(reply.log == "line 1");
    CHECK(reply.parts.empty());
    // No function was called after it.
    CHECK(fake.calls.substr(fake.calls.rfind(call)).find(") ") == std::string::npos);
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::nvvm_test
