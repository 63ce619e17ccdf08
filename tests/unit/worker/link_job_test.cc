// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/worker/compilers/compiler_jobs.h"

namespace cccl_cache::daemon::link_job_test {
namespace {

using cccl_cache::ArtifactKind;
using cccl_cache::LinkInputType;

/// An nvJitLink that records its arguments.
struct Fake {
  std::string calls;
  std::string fails;
  std::string error_log;
  std::string info_log;
  std::string cubin = "cubin";
  std::string ptx;
};
Fake fake;

int Answer(const std::string& call, const std::string& arguments = "") {
  fake.calls += (fake.calls.empty() ? "" : " ") + call + arguments;
  return fake.fails == call ? 3 : NvJitLinkLibrary::kSuccess;
}

int TextSize(const std::string& text, size_t* size) {
  *size = text.empty() ? 0 : text.size() + 1;
  return NvJitLinkLibrary::kSuccess;
}
int Text(const std::string& text, char* to) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  return NvJitLinkLibrary::kSuccess;
}

NvJitLinkLibrary Library() {
  using Handle = NvJitLinkLibrary::Handle;
  fake = Fake();
  NvJitLinkLibrary library;
  library.create = [](Handle* handle, uint32_t count, const char** options) {
    static int linker;
    if (fake.fails != "create") *handle = reinterpret_cast<Handle>(&linker);
    std::string all = options == nullptr ? "null" : "";
    for (uint32_t i = 0; i < count; ++i) all += (i == 0 ? "" : " ") + std::string(options[i]);
    return Answer("create", "(" + all + ")");
  };
  library.add_data = [](Handle, int type, const void* data, size_t size, const char* name) {
    return Answer("add", "(" + std::to_string(type) + " " + name + "=" +
                             std::string(static_cast<const char*>(data), size) + ")");
  };
  library.complete = [](Handle) { return Answer("complete"); };
  library.cubin_size = [](Handle, size_t* size) {
    *size = fake.cubin.size();
    return NvJitLinkLibrary::kSuccess;
  };
  library.cubin = [](Handle, void* to) {
    std::memcpy(to, fake.cubin.data(), fake.cubin.size());
    return NvJitLinkLibrary::kSuccess;
  };
  library.ptx_size = [](Handle, size_t* size) { return TextSize(fake.ptx, size); };
  library.ptx = [](Handle, char* to) { return Text(fake.ptx, to); };
  library.error_log_size = [](Handle, size_t* size) { return TextSize(fake.error_log, size); };
  library.error_log = [](Handle, char* to) { return Text(fake.error_log, to); };
  library.info_log_size = [](Handle, size_t* size) { return TextSize(fake.info_log, size); };
  library.info_log = [](Handle, char* to) { return Text(fake.info_log, to); };
  return library;
}

WorkerJob Job() {
  WorkerJob job;
  job.kind = cccl_cache::BuildKind::kLink;
  job.options = {"-arch=sm_90", "-lto"};
  job.inputs = {{LinkInputType::kLtoIr, "a", "A"}, {LinkInputType::kPtx, "b", "B"}};
  return job;
}

TEST_CASE("nvJitLink is called as a client would: options, inputs in order, the link") {
  const WorkerReply reply = RunLinkJob(Job(), Library());
  CHECK(reply.succeeded);
  CHECK(fake.calls == "create(-arch=sm_90 -lto) add(3 a=A) add(2 b=B) complete");
  REQUIRE(reply.parts.size() == 1);
  CHECK(reply.parts[0].kind == ArtifactKind::kCubin);
  CHECK(reply.parts[0].bytes == "cubin");
}

TEST_CASE("a link without options succeeds") {
  WorkerJob job = Job();
  job.options.clear();
  job.inputs.clear();
  CHECK(RunLinkJob(job, Library()).succeeded);
  CHECK(fake.calls == "create() complete");
}

TEST_CASE("an input's type is taken from its contents if it is not given") {
  WorkerJob job = Job();
  job.inputs = {{LinkInputType::kUnspecified, "a", ".version 8.0\n.target sm_90\n"},
                {LinkInputType::kUnspecified, "b", "who knows"}};
  CHECK(RunLinkJob(job, Library()).succeeded);
  CHECK(fake.calls.find("add(2 a=") != std::string::npos);
  CHECK(fake.calls.find("add(10 b=who knows)") != std::string::npos);
}

TEST_CASE("PTX is returned without its zero byte if there is no cubin") {
  const NvJitLinkLibrary library = Library();
  fake.cubin = "";
  fake.ptx = "ptx";
  const WorkerReply reply = RunLinkJob(Job(), library);
  REQUIRE(reply.parts.size() == 1);
  CHECK(reply.parts[0].kind == ArtifactKind::kPtx);
  CHECK(reply.parts[0].bytes == "ptx");
}

TEST_CASE("both logs are returned on separate lines, the errors first") {
  const NvJitLinkLibrary library = Library();
  fake.error_log = "error";
  fake.info_log = "info";
  CHECK(RunLinkJob(Job(), library).log == "error\ninfo");
  fake.error_log = "error\n";
  CHECK(RunLinkJob(Job(), library).log == "error\ninfo");
  fake.error_log = "";
  CHECK(RunLinkJob(Job(), library).log == "info");
}

TEST_CASE("the first failing call of nvJitLink ends the job with the name of its result") {
  for (const std::string call : {"create", "add", "complete"}) {
    const NvJitLinkLibrary library = Library();
    fake.fails = call;
    fake.error_log = "error";
    const WorkerReply reply = RunLinkJob(Job(), library);
    CHECK_FALSE(reply.succeeded);
    CHECK(reply.native_code == 3);
    CHECK(reply.native_name == NvJitLinkLibrary::ResultName(3));
    CHECK(reply.parts.empty());
    // Without a handle the log can't be read.
    CHECK(reply.log == (call == "create" ? "" : "error"));
    CHECK(fake.calls.substr(fake.calls.rfind(call)).find(") ") == std::string::npos);
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::link_job_test
