// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/verdict.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "daemon/compile/protocol/job.h"

namespace cccl_cache::daemon::verdict_test {
namespace {

using cccl_cache::ArtifactKind;
using Cause = SessionEnd::Cause;
using Catch::Matchers::Contains;

constexpr uint64_t kLimit = 1000ull << 20;

CompileJob JobOf(cccl_cache::BuildRequest request = {}) {
  CompileJob job;
  job.request = std::make_shared<cccl_cache::BuildRequest>(std::move(request));
  return job;
}

SessionEnd EndBy(Cause cause) { return SessionEnd{.cause = cause, .detail = "detail"}; }

SessionEnd ExitOf(int wait_status, uint64_t peak_percent = 1) {
  SessionEnd end;
  end.exited =
      Exited{.wait_status = wait_status, .peak_resident_bytes = kLimit / 100 * peak_percent};
  return end;
}

SessionEnd AnswerOf(const WorkerReply& reply, uint64_t peak_percent = 1) {
  SessionEnd end = ExitOf(0, peak_percent);
  end.payload = EncodeReply(reply).Joined();
  end.duration = std::chrono::microseconds(5);
  return end;
}

WorkerReply Failure(const std::string& log) {
  return {.native_code = 6, .native_name = "NVRTC_ERROR_COMPILATION", .log = log};
}

Result<CompileOutput> JudgeNvrtc(SessionEnd end) {
  return Judge(JobOf(), {.memory_bytes = kLimit}, std::move(end));
}

ErrorCode CodeOf(SessionEnd end) {
  const Result<CompileOutput> output = JudgeNvrtc(std::move(end));
  REQUIRE(!output.ok());
  CHECK_FALSE(output.error().message.empty());
  return output.error().code;
}

TEST_CASE("each cause of a session's end gives its error code") {
  CHECK(CodeOf(EndBy(Cause::kStopped)) == ErrorCode::kCancelled);
  CHECK(CodeOf(EndBy(Cause::kDeadline)) == ErrorCode::kTimedOut);
  SessionEnd bad_reply = EndBy(Cause::kBadReply);
  bad_reply.refusal = Error{ErrorCode::kOutOfMemory, "too long"};
  CHECK(CodeOf(std::move(bad_reply)) == ErrorCode::kOutOfMemory);
  CHECK(CodeOf(EndBy(Cause::kStayed)) == ErrorCode::kWorkerCrashed);
  CHECK(CodeOf(EndBy(Cause::kSpawnFailed)) == ErrorCode::kUnavailable);
  CHECK(CodeOf(EndBy(Cause::kZygoteLost)) == ErrorCode::kUnavailable);
}

TEST_CASE("the error of a compile that exceeded a limit names the setting") {
  using Catch::Matchers::Contains;
  CHECK_THAT(JudgeNvrtc(EndBy(Cause::kDeadline)).error().message, Contains("build_timeout"));
  CHECK_THAT(JudgeNvrtc(ExitOf(SIGSEGV, 91)).error().message, Contains("worker_memory_limit"));
}

TEST_CASE("death by a signal is a crash, unless the memory was nearly used up") {
  CHECK(CodeOf(ExitOf(SIGSEGV, 89)) == ErrorCode::kWorkerCrashed);
  CHECK(CodeOf(ExitOf(SIGSEGV, 91)) == ErrorCode::kOutOfMemory);
  CHECK(CodeOf(ExitOf(SIGABRT, 49)) == ErrorCode::kWorkerCrashed);
  CHECK(CodeOf(ExitOf(SIGABRT, 51)) == ErrorCode::kOutOfMemory);
  CHECK(CodeOf(ExitOf(SIGKILL, 49)) == ErrorCode::kWorkerCrashed);
  CHECK(CodeOf(ExitOf(SIGKILL, 51)) == ErrorCode::kOutOfMemory);
  CHECK(CodeOf(ExitOf(SIGXCPU)) == ErrorCode::kTimedOut);
  CHECK(CodeOf(ExitOf(SIGSYS)) == ErrorCode::kWorkerCrashed);
}

TEST_CASE("an exit without an answer or with a status other than 0 is a crash") {
  CHECK(CodeOf(ExitOf(0)) == ErrorCode::kWorkerCrashed);
  CHECK(CodeOf(ExitOf(1 << 8)) == ErrorCode::kWorkerCrashed);
  SessionEnd end = AnswerOf(Failure("error"));
  end.exited->wait_status = 1 << 8;
  CHECK(CodeOf(std::move(end)) == ErrorCode::kWorkerCrashed);
}

TEST_CASE("a worker that could not be set up is the daemon's error, not a crash") {
  CHECK(CodeOf(ExitOf(kExitNotStarted << 8)) == ErrorCode::kUnavailable);
}

TEST_CASE("an answer becomes an output with the digests of its parts") {
  const Result<CompileOutput> output = JudgeNvrtc(
      AnswerOf({.succeeded = true, .log = "log", .parts = {{ArtifactKind::kCubin, "c"}}}));
  REQUIRE(output.ok());
  CHECK(output->artifact->log == "log");
  CHECK(output->artifact->compile_time.count() == 5);
  REQUIRE(output->artifact->parts.size() == 1);
  CHECK(output->artifact->parts[0].sha256 == cccl_cache::Sha256("c"));
}

TEST_CASE("an answer that can't be decoded is a crash") {
  SessionEnd end = ExitOf(0);
  end.payload = "nonsense";
  CHECK(CodeOf(std::move(end)) == ErrorCode::kWorkerCrashed);
}

TEST_CASE("a compile failure is an output, unless memory ran out") {
  CHECK(JudgeNvrtc(AnswerOf(Failure("a.cu(1): error: no"))).ok());
  CHECK(CodeOf(AnswerOf(Failure("a.cu(1): catastrophic error: out of memory"))) ==
        ErrorCode::kOutOfMemory);
  CHECK(CodeOf(AnswerOf(Failure("Catastrophic error: out of memory"))) == ErrorCode::kOutOfMemory);
  CHECK(CodeOf(AnswerOf(Failure("error: no"), 95)) == ErrorCode::kOutOfMemory);
  CHECK(CodeOf(AnswerOf({.native_code = 1, .native_name = "NVRTC_ERROR_OUT_OF_MEMORY"})) ==
        ErrorCode::kOutOfMemory);
}

TEST_CASE("any failure after a refused allocation is out of memory") {
  const auto refused = [](SessionEnd end) {
    end.exited->refused_memory = true;
    return CodeOf(std::move(end));
  };
  CHECK(refused(ExitOf(SIGSEGV)) == ErrorCode::kOutOfMemory);
  CHECK(refused(ExitOf(SIGABRT)) == ErrorCode::kOutOfMemory);
  CHECK(refused(ExitOf(1 << 8)) == ErrorCode::kOutOfMemory);
  CHECK(refused(ExitOf(0)) == ErrorCode::kOutOfMemory);
  CHECK(refused(AnswerOf(Failure("ERROR 3: ptxjit"))) == ErrorCode::kOutOfMemory);
  CHECK(refused(ExitOf(SIGSYS)) == ErrorCode::kWorkerCrashed);  // a lack of memory never causes
                                                                // SIGSYS
  SessionEnd success = AnswerOf({.succeeded = true, .parts = {{ArtifactKind::kPtx, "p"}}});
  success.exited->refused_memory = true;
  CHECK(JudgeNvrtc(std::move(success)).ok());
}

TEST_CASE("a success near the memory limit stays a success") {
  CHECK(JudgeNvrtc(AnswerOf({.succeeded = true, .parts = {{ArtifactKind::kPtx, "p"}}}, 99)).ok());
}

TEST_CASE("an answer that does not fit the job is a crash") {
  const auto code = [](const CompileJob& job, const WorkerReply& reply) {
    const Result<CompileOutput> output = Judge(job, {.memory_bytes = kLimit}, AnswerOf(reply));
    return output.ok() ? std::optional<ErrorCode>() : output.error().code;
  };
  const WorkerReply success{.succeeded = true, .parts = {{ArtifactKind::kPtx, "p"}}};
  WorkerReply reply = success;
  CHECK(code(JobOf(), reply) == std::nullopt);
  reply.parts.clear();
  CHECK(code(JobOf(), reply) == ErrorCode::kWorkerCrashed);
  reply.parts = {{ArtifactKind::kPtx, ""}};
  CHECK(code(JobOf(), reply) == ErrorCode::kWorkerCrashed);

  reply = success;
  reply.lowered_names = {{"not asked", "_Z"}};
  CHECK(code(JobOf(), reply) == ErrorCode::kWorkerCrashed);
  cccl_cache::BuildRequest asking{.program =
                                      cccl_cache::NvrtcProgram{.name_expressions = {"not asked"}}};
  CHECK(code(JobOf(asking), reply) == std::nullopt);
  reply.lowered_names.emplace_back("not asked", "twice");
  CHECK(code(JobOf(asking), reply) == ErrorCode::kWorkerCrashed);

  const CompileJob link = JobOf({.program = cccl_cache::LinkProgram{}});
  CHECK(code(link, {.succeeded = true, .parts = {{ArtifactKind::kOptixIr, "o"}}}) ==
        ErrorCode::kWorkerCrashed);
  CHECK(code(JobOf(), {.native_code = 6, .native_name = "NVRTC\n"}) == ErrorCode::kWorkerCrashed);
}

}  // namespace
}  // namespace cccl_cache::daemon::verdict_test
