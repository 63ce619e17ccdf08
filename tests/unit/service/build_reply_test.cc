// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/build_reply.h"

#include <catch2/catch.hpp>

#include "cccl_cache/v1/build.pb.h"
#include "tests/unit/service/fakes.h"

namespace cccl_cache::daemon::build_reply_test {
namespace {

namespace v1 = cccl_cache::v1;

v1::BuildReply Parsed(const std::string& bytes) {
  v1::BuildReply reply;
  REQUIRE(reply.ParseFromString(bytes));
  return reply;
}

TEST_CASE("absent fields of an answer are not in its reply") {
  const v1::BuildReply reply = Parsed(EncodeReplyHead(BuildAnswer{}));
  CHECK(reply.key().empty());
  CHECK(reply.fingerprint().empty());
  CHECK(reply.toolchain().id().empty());
  CHECK_FALSE(reply.remembered());
  CHECK_FALSE(reply.precompiled_headers());
  CHECK(reply.has_timing());
}

TEST_CASE("every field of an answer is in its reply") {
  BuildAnswer answer = MakeAnswer("cubin");
  answer.outcome = kLocalOutcome;
  answer.fingerprint = cccl_cache::Sha256("fingerprint");
  answer.toolchain_id = cccl_cache::Sha256("toolchain");
  answer.toolchain_version = "13.0";
  answer.log = "log";
  answer.native_code = 6;
  answer.reason = "reason";
  answer.remembered = true;
  answer.precompiled_headers = true;
  answer.queue_time = std::chrono::microseconds(12);
  answer.compile_time = std::chrono::microseconds(345);
  answer.saved_time = std::chrono::microseconds(6789);
  answer.request_id = uint64_t{1} << 55;
  const v1::BuildReply reply = Parsed(EncodeReplyHead(answer));
  CHECK(reply.outcome() == v1::OUTCOME_LOCAL);
  CHECK(reply.tier() == v1::TIER_MEMORY);
  CHECK(reply.key() == answer.key.Hex());
  CHECK(reply.fingerprint() == answer.fingerprint.Hex());
  CHECK(reply.toolchain().id() == answer.toolchain_id.Hex());
  CHECK(reply.toolchain().version() == "13.0");
  CHECK(reply.log() == "log");
  CHECK(reply.native_code() == 6);
  CHECK(reply.reason() == "reason");
  CHECK(reply.remembered());
  CHECK(reply.precompiled_headers());
  CHECK(reply.timing().queue_us() == 12);
  CHECK(reply.timing().compile_us() == 345);
  CHECK(reply.timing().saved_us() == 6789);
  CHECK(reply.request_id() == uint64_t{1} << 55);
  CHECK(reply.artifacts().empty());
}

TEST_CASE("a negative result code arrives unchanged") {
  BuildAnswer answer;
  answer.native_code = -3;
  CHECK(Parsed(EncodeReplyHead(answer)).native_code() == -3);
}

TEST_CASE("a log that is not UTF-8, or very long, leaves the reply readable") {
  BuildAnswer answer;
  answer.log = std::string(5u << 20, 'x');
  answer.reason = "\xff";
  const v1::BuildReply reply = Parsed(EncodeReplyHead(answer));
  CHECK(reply.log().size() == 4u << 20);
  CHECK(reply.reason() == "?");
}

TEST_CASE("a log that is UTF-8 is cut between characters, and sent once") {
  BuildAnswer answer;
  answer.log = std::string(5u << 20, 'x');
  answer.log.replace((4u << 20) - 1, 2, "\xc3\xa9");
  const v1::BuildReply reply = Parsed(EncodeReplyHead(answer));
  CHECK(reply.log().size() == (4u << 20) - 1);
  CHECK(reply.log_bytes().empty());
}

TEST_CASE("a log that is not UTF-8 is sent as text and as bytes, within the same limit") {
  BuildAnswer answer;
  answer.log = "caf\xe9";
  const v1::BuildReply reply = Parsed(EncodeReplyHead(answer));
  CHECK(reply.log() == "caf?");
  CHECK(reply.log_bytes() == answer.log);
  answer.log.append(5u << 20, 'x');
  CHECK(Parsed(EncodeReplyHead(answer)).log_bytes().size() == 2u << 20);
}

TEST_CASE("a name expression that is not UTF-8 is returned unchanged") {
  Artifact artifact;
  artifact.lowered_names = {{"k<'\xe9'>", "_Z1kILcn23EEvv"}};
  BuildAnswer answer;
  answer.artifact = std::make_shared<const Artifact>(std::move(artifact));
  const v1::BuildReply reply = Parsed(EncodeReplyHead(answer));
  REQUIRE(reply.lowered_names_size() == 1);
  CHECK(reply.lowered_names(0).expression() == "k<'?'>");
  CHECK(reply.lowered_names(0).expression_bytes() == "k<'\xe9'>");
  CHECK(reply.lowered_names(0).lowered() == "_Z1kILcn23EEvv");
  CHECK(reply.lowered_names(0).lowered_bytes().empty());
}

TEST_CASE("an artifact's head precedes its bytes, or announces them for chunks") {
  ArtifactPart part{cccl_cache::ArtifactKind::kPtx, std::string(300, 'p'), {}};
  part.sha256 = cccl_cache::Sha256(part.bytes);
  const std::string head = EncodeReplyHead(BuildAnswer{});
  const auto whole =
      Parsed(head + EncodeArtifactHead(part, ArtifactBytes::kFollow) + part.bytes).artifacts(0);
  CHECK(whole.kind() == v1::ARTIFACT_KIND_PTX);
  CHECK(whole.size() == 300);
  CHECK(whole.sha256() == part.sha256.View());
  CHECK(whole.contents() == part.bytes);
  CHECK_FALSE(whole.in_chunks());
  const auto announced =
      Parsed(head + EncodeArtifactHead(part, ArtifactBytes::kInChunks)).artifacts(0);
  CHECK(announced.in_chunks());
  CHECK(announced.size() == 300);
  CHECK(announced.contents().empty());
}

TEST_CASE("an empty artifact is valid") {
  const ArtifactPart part{cccl_cache::ArtifactKind::kPtx, "", cccl_cache::Sha256("")};
  const auto reply = Parsed(EncodeArtifactHead(part, ArtifactBytes::kFollow));
  REQUIRE(reply.artifacts_size() == 1);
  CHECK(reply.artifacts(0).sha256() == part.sha256.View());
}

}  // namespace
}  // namespace cccl_cache::daemon::build_reply_test
