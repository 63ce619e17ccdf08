// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "daemon/service/calls/explain_call.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

Result<ExplainQuestion> Read(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  grpc::ByteBuffer buffer(&slice, 1);
  return ReadExplainRequest(buffer, {}, [](const auto&) { return nullptr; });
}

v1::ExplainRequest Kernel() {
  v1::ExplainRequest request;
  request.mutable_build()->mutable_nvrtc()->mutable_source()->set_inline_bytes("source");
  return request;
}

TEST_CASE("a question is about a key or about a build") {
  v1::ExplainRequest request;
  request.set_key(cccl_cache::Sha256("key").Hex());
  const auto key = Read(request.SerializeAsString());
  REQUIRE(key.ok());
  CHECK(key->key->hex == cccl_cache::Sha256("key").Hex());
  const auto build = Read(Kernel().SerializeAsString());
  REQUIRE(build.ok());
  CHECK_FALSE(build->key);
  CHECK(std::get<cccl_cache::NvrtcProgram>(build->build.request->program).source == "source");
  CHECK(build->build.bytes == 6);
}

TEST_CASE("a question about nothing, about both, or about no key is refused") {
  v1::ExplainRequest both = Kernel();
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

TEST_CASE("the bounds of a build hold inside a question, and it comes in one part") {
  v1::ExplainRequest many = Kernel();
  for (int i = 0; i < 100'000; ++i) many.mutable_build()->mutable_nvrtc()->add_headers();
  const auto refused = Read(many.SerializeAsString());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("nvrtc.headers: 100000 entries") != std::string::npos);
  const std::string half = Kernel().SerializeAsString();
  CHECK_FALSE(Read(half + half).ok());
  CHECK(Read(half + "\x18\x01").ok());  // a field that this version does not know
}

TEST_CASE("an explanation is sent field by field") {
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
  CHECK_FALSE(ToProto(Explanation{}).has_nearest());
}

}  // namespace
}  // namespace cccl_cache::daemon
