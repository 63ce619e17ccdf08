// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/reply.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "daemon/compile/protocol/frame.h"

namespace cccl_cache::daemon::reply_test {
namespace {

using cccl_cache::ArtifactKind;
using cccl_cache::BuildRequest;

TEST_CASE("a frame that comes byte by byte is complete with its last byte") {
  ReplyBuffer buffer(100);
  const std::string frame = EncodeFrameHeader(5) + "hello";
  for (const char byte : frame) {
    CHECK_FALSE(buffer.complete());
    REQUIRE(buffer.Append({&byte, 1}).ok());
  }
  REQUIRE(buffer.complete());
  CHECK(buffer.TakePayload() == "hello");
}

TEST_CASE("an empty payload is complete with its header") {
  ReplyBuffer buffer(100);
  REQUIRE(buffer.Append(EncodeFrameHeader(0)).ok());
  CHECK(buffer.complete());
}

TEST_CASE("a byte after the frame is an error") {
  ReplyBuffer buffer(100);
  CHECK_FALSE(buffer.Append(EncodeFrameHeader(5) + "hello!").ok());
}

TEST_CASE("a frame over the maximum size is refused by its header") {
  ReplyBuffer buffer(4);
  const Status status = buffer.Append(EncodeFrameHeader(5));
  REQUIRE(!status.ok());
  CHECK(status.error().code == ErrorCode::kOutOfMemory);
}

TEST_CASE("memory for a frame is reserved when its header arrives, unless it is too long") {
  std::vector<uint64_t> taken;
  const auto take = [&](uint64_t bytes) -> Status {
    taken.push_back(bytes);
    if (bytes > 5) return Error{ErrorCode::kTimedOut, "full"};
    return Ok{};
  };
  ReplyBuffer fits(100, take);
  REQUIRE(fits.Append(EncodeFrameHeader(5)).ok());
  CHECK(taken == std::vector<uint64_t>{5});
  ReplyBuffer full(100, take);
  const Status refused = full.Append(EncodeFrameHeader(6));
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kTimedOut);
  CHECK_FALSE(ReplyBuffer(100, take).Append(EncodeFrameHeader(101)).ok());
  CHECK(taken == std::vector<uint64_t>{5, 6});
}

TEST_CASE("a reply without a frame's header is an error") {
  ReplyBuffer buffer(100);
  CHECK_FALSE(buffer.Append(std::string(kFrameHeaderBytes, 'x')).ok());
}

CompileJob JobOf(decltype(BuildRequest::program) program) {
  auto request = std::make_shared<BuildRequest>();
  request->program = std::move(program);
  CompileJob job;
  job.request = std::move(request);
  return job;
}

WorkerReply Made(ArtifactKind kind, std::string bytes = "bytes") {
  WorkerReply reply{.succeeded = true};
  reply.parts = {{kind, std::move(bytes)}};
  return reply;
}

const CompileJob kNvrtcJob = JobOf(cccl_cache::NvrtcProgram{.name_expressions = {"f<int>", "g"}});
const CompileJob kLinkJob = JobOf(cccl_cache::LinkProgram{});
const CompileJob kNvvmJob = JobOf(cccl_cache::NvvmProgram{});

TEST_CASE("an output of a kind that the compiler can't produce is refused") {
  CHECK(CheckReply(kNvrtcJob, Made(ArtifactKind::kLtoIr)));
  CHECK(CheckReply(kLinkJob, Made(ArtifactKind::kCubin)));
  CHECK(CheckReply(kLinkJob, Made(ArtifactKind::kPtx)));
  CHECK_FALSE(CheckReply(kLinkJob, Made(ArtifactKind::kLtoIr)));
  CHECK(CheckReply(kNvvmJob, Made(ArtifactKind::kPtx)));
  CHECK(CheckReply(kNvvmJob, Made(ArtifactKind::kLtoIr)));
  CHECK_FALSE(CheckReply(kNvvmJob, Made(ArtifactKind::kCubin)));
}

TEST_CASE("a success without outputs or with an empty one is refused") {
  CHECK_FALSE(CheckReply(kNvrtcJob, WorkerReply{.succeeded = true}));
  CHECK_FALSE(CheckReply(kNvrtcJob, Made(ArtifactKind::kCubin, "")));
  CHECK(CheckReply(kNvrtcJob, WorkerReply{.native_code = 6, .log = "an error"}));
}

TEST_CASE("a lowered name that was not requested or occurs twice is refused") {
  WorkerReply reply = Made(ArtifactKind::kCubin);
  reply.lowered_names = {{"g", "_Z1gv"}, {"f<int>", "_Z1fIiEvv"}};
  CHECK(CheckReply(kNvrtcJob, reply));
  reply.lowered_names = {{"g", "_Z1gv"}, {"g", "_Z1hv"}};
  CHECK_FALSE(CheckReply(kNvrtcJob, reply));
  reply.lowered_names = {{"h", "_Z1hv"}};
  CHECK_FALSE(CheckReply(kNvrtcJob, reply));
  CHECK_FALSE(CheckReply(kLinkJob, reply));
}

TEST_CASE("a result name that is too long or not printable is refused") {
  WorkerReply reply{.native_code = 6, .native_name = "NVRTC_ERROR_COMPILATION"};
  CHECK(CheckReply(kNvrtcJob, reply));
  reply.native_name = "\x1b[2J";
  const Status status = CheckReply(kNvrtcJob, reply);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::kWorkerCrashed);
  CHECK(status.error().message == "the worker's answer is impossible: the name of its result");
  reply.native_name = std::string(129, 'N');
  CHECK_FALSE(CheckReply(kNvrtcJob, reply));
}

}  // namespace
}  // namespace cccl_cache::daemon::reply_test
