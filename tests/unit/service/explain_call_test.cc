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

namespace cccl_cache::daemon::explain_call_test {
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

TEST_CASE("a key is explained to the requesting uid") {
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

TEST_CASE("a build is explained at once or later, and an error keeps its name") {
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

TEST_CASE("a caller that leaves ends its question, and the late answer is dropped") {
  RunningServer running;
  const Answer answer = Ask(running, Kernel(), std::chrono::seconds(1));
  CHECK(answer.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
  REQUIRE(running.builder.WaitForQuestions(1));
  CHECK(running.builder.WaitForLeft(1));
  running.builder.AnswerQuestions(Explanation{});
  running.builder.explain_build = [](const auto&, const auto&) {
    return Result<Explanation>(Explanation{});
  };
  CHECK(Ask(running, Kernel()).status.ok());
}

TEST_CASE("the bytes of a question are charged to its user until it is answered") {
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

TEST_CASE("a question about a key counts the bytes of the build in progress") {
  ServiceLimits limits;
  limits.bytes_in_flight_per_uid = 1500;
  RunningServer running(limits);
  running.builder.explain_build = [](const auto&, const auto&) {
    return Result<Explanation>(Explanation{});
  };
  const auto in_progress = [&running](size_t bytes) {
    auto build = std::make_shared<cccl_cache::BuildRequest>();
    build->program = cccl_cache::NvrtcProgram{.source = std::string(bytes, 'x')};
    running.builder.in_progress = std::move(build);
  };
  v1::ExplainRequest request;
  request.set_key(cccl_cache::Sha256("key").Hex());
  in_progress(1000);
  CHECK(Ask(running, request).status.ok());
  in_progress(2000);
  CHECK(Ask(running, request).error == "overloaded");
}

Result<ExplainQuestion> Read(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  grpc::ByteBuffer buffer(&slice, 1);
  return ReadExplainRequest(buffer, {}, [](const auto&) { return nullptr; });
}

v1::ExplainRequest ExplainRequestKernel() {
  v1::ExplainRequest request;
  request.mutable_build()->mutable_nvrtc()->mutable_source()->set_inline_bytes("source");
  return request;
}

TEST_CASE("a question about a key or a build is decoded") {
  v1::ExplainRequest request;
  request.set_key(cccl_cache::Sha256("key").Hex());
  const auto key = Read(request.SerializeAsString());
  REQUIRE(key.ok());
  CHECK(key->key->hex == cccl_cache::Sha256("key").Hex());
  const auto build = Read(ExplainRequestKernel().SerializeAsString());
  REQUIRE(build.ok());
  CHECK_FALSE(build->key);
  CHECK(std::get<cccl_cache::NvrtcProgram>(build->build.request->program).source == "source");
  CHECK(build->build.bytes == 6);
}

TEST_CASE("a question without key or build, with both, or a bad key is refused") {
  v1::ExplainRequest both = ExplainRequestKernel();
  both.set_key(cccl_cache::Sha256("key").Hex());
  v1::ExplainRequest short_key;
  short_key.set_key("abc");
  const std::string garbage = "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
  for (const std::string& bytes :
       {std::string(), both.SerializeAsString(), short_key.SerializeAsString(), garbage,
        std::string("\x12\x09")}) {
    const auto question = Read(bytes);
    REQUIRE_FALSE(question.ok());
    CHECK(question.error().code == ErrorCode::kInvalidRequest);
  }
}

TEST_CASE("a build inside an explain request has the limits of a build") {
  v1::ExplainRequest many = ExplainRequestKernel();
  for (int i = 0; i < 100'000; ++i) many.mutable_build()->mutable_nvrtc()->add_headers();
  const auto refused = Read(many.SerializeAsString());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("nvrtc.headers: 100000 entries") != std::string::npos);
  const std::string half = ExplainRequestKernel().SerializeAsString();
  CHECK_FALSE(Read(half + half).ok());
  CHECK(Read(half + "\x18\x01").ok());  // a field that this version does not know
}

TEST_CASE("every field of an explanation is sent") {
  using std::chrono::milliseconds;
  Explanation explanation;
  explanation.verdict = Verdict::kEvicted;
  explanation.tier = TierName::kDisk;
  explanation.reason = "a \xff reason";
  explanation.since = std::chrono::system_clock::time_point(milliseconds(1234));
  explanation.nearest = EarlierBuild{cccl_cache::Sha256("key"), Outcome::kJoined,
                                     std::chrono::system_clock::time_point(milliseconds(567))};
  explanation.differences = {{DifferenceField::kSource, "k.cu", "a", "b", 1, 2}};
  explanation.more_differences = 3;
  explanation.tiers = {{TierName::kMemory, TierFinding::kNoEntry},
                       {TierName::kRemote, TierFinding::kNotConnected, "it \xff refused"}};
  const v1::ExplainReply reply = ToProto(explanation);
  CHECK(reply.verdict() == v1::VERDICT_EVICTED);
  CHECK(reply.tier() == v1::TIER_DISK);
  CHECK(reply.reason() == "a ? reason");
  CHECK(reply.since_ms() == 1234);
  CHECK(reply.nearest().key() == cccl_cache::Sha256("key").Hex());
  CHECK(reply.nearest().outcome() == v1::OUTCOME_JOINED);
  CHECK(reply.nearest().time_ms() == 567);
  REQUIRE(reply.differences_size() == 1);
  CHECK(reply.differences(0).field() == v1::DIFFERENCE_FIELD_SOURCE);
  CHECK(reply.differences(0).was() == "a");
  CHECK(reply.differences(0).is_lines() == 2);
  CHECK(reply.more_differences() == 3);
  REQUIRE(reply.tiers_size() == 2);
  CHECK(reply.tiers(0).finding() == v1::TIER_FINDING_NO_ENTRY);
  CHECK(reply.tiers(1).tier() == v1::TIER_REMOTE);
  CHECK(reply.tiers(1).reason() == "it ? refused");
  CHECK_FALSE(ToProto(Explanation{}).has_nearest());
}

}  // namespace
}  // namespace cccl_cache::daemon::explain_call_test
