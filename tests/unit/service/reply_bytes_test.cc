// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/reply_bytes.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "cccl_cache/v1/build.pb.h"
#include "tests/unit/service/fakes.h"

namespace cccl_cache::daemon::reply_bytes_test {
namespace {

namespace v1 = cccl_cache::v1;
constexpr uint64_t kLimit = 16u << 20;

std::string Flat(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  REQUIRE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

BuildAnswer AnswerWith(std::vector<std::pair<cccl_cache::ArtifactKind, std::string>> parts) {
  BuildAnswer answer = MakeAnswer("");
  auto artifact = std::make_shared<Artifact>();
  for (auto& [kind, bytes] : parts) {
    artifact->parts.push_back({kind, bytes, cccl_cache::Sha256(bytes)});
  }
  artifact->lowered_names = {{"f<int>", "_Z1fIiEvv"}};
  answer.artifact = artifact;
  answer.fingerprint = cccl_cache::Sha256("fingerprint");
  answer.toolchain_id = cccl_cache::Sha256("toolchain");
  answer.toolchain_version = "13.0";
  answer.log = "warning";
  answer.reason = "";
  answer.native_code = 6;
  answer.compile_time = std::chrono::microseconds(1234);
  answer.saved_time = std::chrono::microseconds(56789);
  return answer;
}

std::string Generated(const BuildAnswer& answer) {
  v1::BuildReply reply;
  reply.set_outcome(static_cast<v1::Outcome>(answer.outcome));
  reply.set_tier(static_cast<v1::Tier>(answer.tier));
  if (answer.key != cccl_cache::Digest{}) reply.set_key(answer.key.Hex());
  reply.set_fingerprint(answer.fingerprint.Hex());
  reply.mutable_toolchain()->set_id(answer.toolchain_id.Hex());
  reply.mutable_toolchain()->set_version(answer.toolchain_version);
  for (const auto& [expression, lowered] : answer.artifact->lowered_names) {
    v1::LoweredName& name = *reply.add_lowered_names();
    name.set_expression(expression);
    name.set_lowered(lowered);
  }
  reply.set_log(answer.log);
  reply.set_native_code(answer.native_code);
  reply.set_reason(answer.reason);
  reply.set_remembered(answer.remembered);
  reply.set_precompiled_headers(answer.precompiled_headers);
  reply.mutable_timing()->set_queue_us(static_cast<uint64_t>(answer.queue_time.count()));
  reply.mutable_timing()->set_compile_us(static_cast<uint64_t>(answer.compile_time.count()));
  reply.mutable_timing()->set_saved_us(static_cast<uint64_t>(answer.saved_time.count()));
  reply.set_closed(answer.closed);
  for (const ArtifactPart& part : answer.artifact->parts) {
    v1::Artifact& artifact = *reply.add_artifacts();
    artifact.set_kind(static_cast<v1::ArtifactKind>(part.kind));
    artifact.set_size(part.bytes.size());
    artifact.set_sha256(std::string(part.sha256.View()));
    artifact.set_contents(part.bytes);
  }
  return reply.SerializeAsString();
}

TEST_CASE("the reply equals the generated code's output byte for byte") {
  using Kind = cccl_cache::ArtifactKind;
  for (size_t size : {0, 1, 100, 127, 128, 200'000, 3'000'000}) {
    const auto answer = AnswerWith({{Kind::kCubin, std::string(size, 'c')}, {Kind::kPtx, "ptx"}});
    CHECK((Flat(EncodeReply(answer, {}, kLimit)) == Generated(answer)));
  }
  auto none = AnswerWith({});
  CHECK(Flat(EncodeReply(none, {}, kLimit)) == Generated(none));
  none.outcome = Outcome::kFailed;
  none.key = {};
  none.tier = TierName::kDisk;
  none.native_code = -6;
  none.reason = "r";
  none.remembered = none.precompiled_headers = none.closed = true;
  none.queue_time = std::chrono::microseconds(300);
  CHECK(Flat(EncodeReply(none, {}, kLimit)) == Generated(none));
}

TEST_CASE("a reply refers to the artifact's bytes, which live as long as its buffer") {
  auto answer = MakeAnswer(std::string(180'000, 'x'));
  const std::weak_ptr<const Artifact> watched = answer.artifact;
  const char* bytes = answer.artifact->parts[0].bytes.data();
  grpc::ByteBuffer buffer = EncodeReply(answer, {}, kLimit);
  answer.artifact.reset();
  CHECK_FALSE(watched.expired());
  {
    std::vector<grpc::Slice> slices;
    REQUIRE(buffer.Dump(&slices).ok());
    REQUIRE(slices.size() == 2);
    CHECK(reinterpret_cast<const char*>(slices[1].begin()) == bytes);
  }
  buffer.Clear();
  CHECK(watched.expired());
}

TEST_CASE("only the wanted kinds are sent") {
  using Kind = cccl_cache::ArtifactKind;
  const auto answer = AnswerWith({{Kind::kCubin, "cubin"}, {Kind::kPtx, "ptx"}});
  v1::BuildReply reply;
  REQUIRE(reply.ParseFromString(Flat(EncodeReply(answer, {Kind::kPtx}, kLimit))));
  REQUIRE(reply.artifacts_size() == 1);
  CHECK(reply.artifacts(0).contents() == "ptx");
}

TEST_CASE("an artifact that does not fit is announced without its bytes") {
  using Kind = cccl_cache::ArtifactKind;
  const auto answer =
      AnswerWith({{Kind::kCubin, std::string(5000, 'c')}, {Kind::kPtx, std::string(100, 'p')}});
  v1::BuildReply reply;
  const std::string bytes = Flat(EncodeReply(answer, {}, 2000));
  CHECK(bytes.size() <= 2000);
  REQUIRE(reply.ParseFromString(bytes));
  REQUIRE(reply.artifacts_size() == 2);
  CHECK(reply.artifacts(0).in_chunks());
  CHECK(reply.artifacts(0).size() == 5000);
  CHECK(reply.artifacts(0).contents().empty());
  CHECK_FALSE(reply.artifacts(1).in_chunks());
  CHECK(reply.artifacts(1).contents() == std::string(100, 'p'));
}

TEST_CASE("the chunks together have all artifacts, and none is larger than 1 MiB") {
  using Kind = cccl_cache::ArtifactKind;
  std::string large(2'500'000, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7);
  const auto answer = AnswerWith({{Kind::kCubin, large}, {Kind::kLtoIr, ""}, {Kind::kPtx, "ptx"}});
  ReplyChunks chunks(answer, {});
  grpc::ByteBuffer message;
  REQUIRE(chunks.Next(message));
  CHECK(chunks.bytes() == message.Length() + large.size() + 3);
  v1::BuildChunk first;
  REQUIRE(first.ParseFromString(Flat(message)));
  REQUIRE(first.reply().artifacts_size() == 3);
  CHECK(first.reply().artifacts(0).in_chunks());
  CHECK(first.data().empty());
  std::string data;
  while (chunks.Next(message)) {
    v1::BuildChunk chunk;
    REQUIRE(chunk.ParseFromString(Flat(message)));
    CHECK_FALSE(chunk.has_reply());
    CHECK(chunk.data().size() <= ReplyChunks::kChunkBytes);
    data += chunk.data();
  }
  CHECK((data == large + "ptx"));
}

TEST_CASE("a log that is not UTF-8 does not make the reply unreadable") {
  BuildAnswer answer = AnswerWith({});
  answer.log = "error in \"caf\xE9\"";
  v1::BuildReply reply;
  REQUIRE(reply.ParseFromString(Flat(EncodeReply(answer, {}, kLimit))));
  CHECK(reply.log() == "error in \"caf?\"");
}

}  // namespace
}  // namespace cccl_cache::daemon::reply_bytes_test
