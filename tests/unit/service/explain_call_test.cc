// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/explain_call.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "cccl_cache/v1/admin.grpc.pb.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

v1::ExplainRequest Kernel() {
  v1::ExplainRequest request;
  *request.mutable_build() = SmallRequest();
  return request;
}

struct Answer {
  grpc::Status status;
  v1::ExplainReply reply;
  std::string error;
};

Answer Ask(const RunningServer& running, const v1::ExplainRequest& request,
           std::chrono::seconds patience = std::chrono::seconds(20)) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  Answer answer;
  answer.status = v1::Admin::NewStub(running.Connect())->Explain(&context, request, &answer.reply);
  answer.error = Trailer(context, "cccl-error");
  return answer;
}

TEST_CASE("a key is explained to the uid that asks") {
  RunningServer running;
  running.builder.explain_key = [](const cccl_cache::DigestPrefix& key, uid_t uid) {
    Explanation explanation;
    explanation.verdict = Verdict::kNeverSeen;
    explanation.reason = key.hex + " " + std::to_string(uid);
    return explanation;
  };
  v1::ExplainRequest request;
  request.set_key(cccl_cache::Sha256("key").Hex());
  const Answer answer = Ask(running, request);
  REQUIRE(answer.status.ok());
  CHECK(answer.reply.verdict() == v1::VERDICT_NEVER_SEEN);
  CHECK(answer.reply.reason() == request.key() + " " + std::to_string(geteuid()));

  running.builder.explain_key = nullptr;
  std::jthread later([&] {
    if (running.builder.WaitForQuestions(1)) running.builder.AnswerQuestions(Explanation{});
  });
  CHECK(Ask(running, request).status.ok());
}

TEST_CASE("a build is explained, now or later, and errors have their names") {
  RunningServer running;
  running.builder.explain_build = [](const cccl_cache::BuildRequest& request, const Peer& peer) {
    Explanation explanation;
    explanation.reason = std::get<cccl_cache::NvrtcProgram>(request.program).source;
    CHECK(peer.uid == geteuid());
    return Result<Explanation>(explanation);
  };
  CHECK(Ask(running, Kernel()).reply.reason() == "__global__ void f() {}");

  running.builder.explain_build = [](const auto&, const auto&) -> Result<Explanation> {
    return Error{ErrorCode::kToolchainNotFound, "no CUDA 99 here"};
  };
  const Answer refused = Ask(running, Kernel());
  CHECK(refused.error == "toolchain-not-found");
  CHECK(refused.status.error_message() == "no CUDA 99 here");
  CHECK(Ask(running, {}).error == "invalid-request");

  running.builder.explain_build = nullptr;
  std::jthread later([&] {
    if (running.builder.WaitForQuestions(1)) running.builder.AnswerQuestions(Explanation{});
  });
  CHECK(Ask(running, Kernel()).status.ok());
}

TEST_CASE("who leaves while files hang is let go, and the late answer goes nowhere") {
  RunningServer running;
  const Answer answer = Ask(running, Kernel(), std::chrono::seconds(1));
  CHECK(answer.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
  REQUIRE(running.builder.WaitForQuestions(1));
  running.builder.AnswerQuestions(Explanation{});
  running.builder.explain_build = [](const auto&, const auto&) {
    return Result<Explanation>(Explanation{});
  };
  CHECK(Ask(running, Kernel()).status.ok());
}

TEST_CASE("the bytes of a question count as long as it is not answered") {
  ServiceLimits limits;
  limits.bytes_in_flight_per_uid = 1500;
  RunningServer running(limits);
  v1::ExplainRequest request = Kernel();
  request.mutable_build()->mutable_nvrtc()->mutable_source()->set_inline_bytes(
      std::string(1000, 'x'));
  const Answer left = Ask(running, request, std::chrono::seconds(1));
  CHECK(left.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
  REQUIRE(running.builder.WaitForQuestions(1));
  CHECK(Ask(running, request).error == "overloaded");
  running.builder.AnswerQuestions(Explanation{});
  running.builder.explain_build = [](const auto&, const auto&) {
    return Result<Explanation>(Explanation{});
  };
  CHECK(Ask(running, request).status.ok());
}

}  // namespace
}  // namespace cccl_cache::daemon
