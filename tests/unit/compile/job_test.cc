// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/job.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

namespace job_test {

using namespace cccl_cache::daemon;
using cccl_cache::ArtifactKind;
using cccl_cache::BuildKind;
using cccl_cache::LinkInputType;

namespace {

template <typename Program>
CompileJob JobOf(Program program) {
  auto request = std::make_shared<cccl_cache::BuildRequest>();
  request->program = std::move(program);
  CompileJob job;
  job.request = std::move(request);
  job.options = {"--gpu-architecture=sm_90", "-DX=1"};
  job.mounts = {{"/cccl-root-0", "/home/user", false}, {"/cccl-root-1", "/cuda/include", true}};
  job.visible_working_directory = "/cccl-cwd";
  return job;
}

CompileJob NvrtcJob() {
  cccl_cache::NvrtcProgram program;
  program.source = std::string(100'000, 's');
  program.headers = {{"a.h", "contents of a"}, {"b/c.h", ""}};
  program.name_expressions = {"&kernel<int>"};
  CompileJob job = JobOf(program);
  job.program_name = "/cccl-root-0/prog.cu";
  return job;
}

CompileJob LinkJob() {
  cccl_cache::LinkProgram program;
  program.inputs = {{LinkInputType::kLtoIr, "a.ltoir", std::string("a\0b", 3)},
                    {LinkInputType::kUnspecified, "", "x"}};
  return JobOf(program);
}

CompileJob NvvmJob() {
  cccl_cache::NvvmProgram program;
  program.modules = {{"m", "ir", false}, {"lib", "bitcode", true}};
  program.add_libdevice = true;
  return JobOf(program);
}

WorkerReply Reply() {
  WorkerReply reply;
  reply.succeeded = true;
  reply.log = "warning: none";
  reply.parts = {{ArtifactKind::kPtx, "ptx"}, {ArtifactKind::kCubin, std::string(50'000, '\1')}};
  reply.lowered_names = {{"&kernel<int>", "_Z6kernelIiEvv"}};
  reply.peak_resident_bytes = 260'000'000;
  reply.architectures = {75, 90, 120};
  return reply;
}

bool Decodes(const WorkerReply& reply) { return DecodeReply(EncodeReply(reply).Joined()).ok(); }

}  // namespace

TEST_CASE("an NVRTC job decodes to itself") {
  const CompileJob sent = NvrtcJob();
  const std::string bytes = EncodeJob(sent).Joined();
  const Result<WorkerJob> job = DecodeJob(bytes);
  REQUIRE(job);
  CHECK(job->kind == BuildKind::kNvrtc);
  REQUIRE(job->options.size() == 2);
  CHECK(job->options[1] == "-DX=1");
  CHECK(job->visible_working_directory == "/cccl-cwd");
  CHECK(job->program_name == "/cccl-root-0/prog.cu");
  CHECK(job->source == std::string(100'000, 's'));
  REQUIRE(job->headers.size() == 2);
  CHECK(job->headers[0].name == "a.h");
  CHECK(job->headers[0].contents == "contents of a");
  REQUIRE(job->name_expressions.size() == 1);
  CHECK(job->name_expressions[0] == "&kernel<int>");
}

TEST_CASE("an encoded job names the toolchain's directories, but none of the user's") {
  const CompileJob sent = NvrtcJob();
  const std::string bytes = EncodeJob(sent).Joined();
  const Result<WorkerJob> job = DecodeJob(bytes);
  REQUIRE(job);
  REQUIRE(job->mounts.size() == 1);
  CHECK(job->mounts[0].visible == "/cccl-root-1");
  CHECK(job->mounts[0].target == "/cuda/include");
  CHECK(bytes.find("/home/user") == std::string::npos);
}

TEST_CASE("a link job decodes to itself") {
  const CompileJob sent = LinkJob();
  const std::string bytes = EncodeJob(sent).Joined();
  const Result<WorkerJob> job = DecodeJob(bytes);
  REQUIRE(job);
  CHECK(job->kind == BuildKind::kLink);
  REQUIRE(job->inputs.size() == 2);
  CHECK(job->inputs[0].type == LinkInputType::kLtoIr);
  CHECK(job->inputs[0].name == "a.ltoir");
  CHECK(job->inputs[0].contents == std::string_view("a\0b", 3));
  CHECK(job->inputs[1].type == LinkInputType::kUnspecified);
}

TEST_CASE("an NVVM job decodes to itself") {
  const CompileJob sent = NvvmJob();
  const std::string bytes = EncodeJob(sent).Joined();
  const Result<WorkerJob> job = DecodeJob(bytes);
  REQUIRE(job);
  CHECK(job->kind == BuildKind::kNvvm);
  REQUIRE(job->modules.size() == 2);
  CHECK_FALSE(job->modules[0].lazy);
  CHECK(job->modules[1].lazy);
  CHECK(job->modules[1].contents == "bitcode");
  CHECK(job->add_libdevice);
}

TEST_CASE("a job that is truncated, too long or of another version is refused") {
  for (const CompileJob& sent : {LinkJob(), NvvmJob()}) {
    std::string bytes = EncodeJob(sent).Joined();
    for (size_t length = 0; length < bytes.size(); ++length) {
      INFO("cut to " << length << " of " << bytes.size());
      CHECK_FALSE(DecodeJob(std::string_view(bytes).substr(0, length)));
    }
    CHECK_FALSE(DecodeJob(bytes + '\0'));
    bytes[0] ^= 1;
    CHECK_FALSE(DecodeJob(bytes));
  }
}

TEST_CASE("a reply decodes to itself") {
  const WorkerReply sent = Reply();
  const Result<WorkerReply> reply = DecodeReply(EncodeReply(sent).Joined());
  REQUIRE(reply);
  CHECK(reply->succeeded);
  CHECK(reply->native_code == 0);
  CHECK(reply->log == sent.log);
  CHECK(reply->parts == sent.parts);
  CHECK(reply->lowered_names == sent.lowered_names);
  CHECK(reply->peak_resident_bytes == sent.peak_resident_bytes);
  CHECK(reply->architectures == sent.architectures);
}

TEST_CASE("the reply of a failure keeps the library's result code, even a negative one") {
  WorkerReply sent;
  sent.native_code = -1;
  sent.native_name = "NVRTC_ERROR_COMPILATION";
  const Result<WorkerReply> reply = DecodeReply(EncodeReply(sent).Joined());
  REQUIRE(reply);
  CHECK_FALSE(reply->succeeded);
  CHECK(reply->native_code == -1);
  CHECK(reply->native_name == "NVRTC_ERROR_COMPILATION");
}

TEST_CASE("a reply that is truncated or too long is refused") {
  WorkerReply sent = Reply();
  sent.parts[1].bytes.resize(10);
  const std::string bytes = EncodeReply(sent).Joined();
  for (size_t length = 0; length < bytes.size(); ++length) {
    INFO("cut to " << length << " of " << bytes.size());
    const Result<WorkerReply> reply = DecodeReply(bytes.substr(0, length));
    REQUIRE_FALSE(reply);
    CHECK(reply.error().code == ErrorCode::kWorkerCrashed);
  }
  CHECK_FALSE(DecodeReply(bytes + '\0'));
}

TEST_CASE("a reply with invalid or contradictory fields is refused") {
  WorkerReply twice = Reply();
  twice.parts[1].kind = ArtifactKind::kPtx;
  CHECK_FALSE(Decodes(twice));

  WorkerReply unknown_kind = Reply();
  unknown_kind.parts[0].kind = static_cast<ArtifactKind>(9);
  CHECK_FALSE(Decodes(unknown_kind));

  WorkerReply failed_with_parts = Reply();
  failed_with_parts.succeeded = false;
  failed_with_parts.native_code = 6;
  CHECK_FALSE(Decodes(failed_with_parts));

  WorkerReply too_many = Reply();
  too_many.architectures.resize(65, 90);
  CHECK_FALSE(Decodes(too_many));

  WorkerReply success_with_code = Reply();
  success_with_code.native_code = 6;
  CHECK_FALSE(Decodes(success_with_code));
}

}  // namespace job_test
