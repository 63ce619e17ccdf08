// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "cccl_cache/v1/build.pb.h"
#include "daemon/service/wire/stream_messages.h"
#include "tests/unit/service/byte_buffers.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

Result<ManyRequest> Read(std::string_view bytes) {
  auto buffer = BufferOf(bytes);
  auto read = ReadManyRequest(buffer);
  CHECK(BytesOf(buffer) == bytes);
  return read;
}

Result<ManyRequest> Read(const v1::BuildManyRequest& message) {
  return Read(message.SerializeAsString());
}

v1::BuildManyRequest Tagged(uint64_t tag) {
  v1::BuildManyRequest message;
  message.set_tag(tag);
  return message;
}

TEST_CASE("a message is about a build or about the end of one") {
  auto build = Tagged(UINT64_MAX);
  build.mutable_build()->mutable_nvrtc();
  const auto begun = Read(build);
  REQUIRE(begun.ok());
  CHECK(begun->tag == UINT64_MAX);
  CHECK_FALSE(begun->cancel);
  auto cancel = Tagged(0);
  cancel.set_cancel(true);
  const auto cancelled = Read(cancel);
  REQUIRE(cancelled.ok());
  CHECK(cancelled->tag == 0);
  CHECK(cancelled->cancel);
}

TEST_CASE("a message about both or about nothing is refused") {
  auto both = Tagged(1);
  both.mutable_build();
  both.set_cancel(true);
  for (const auto& message : {both, Tagged(1), v1::BuildManyRequest()}) {
    const auto read = Read(message);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().code == ErrorCode::kInvalidRequest);
    CHECK(read.error().message.ends_with("with either a build or cancel"));
  }
}

TEST_CASE("what is damaged is refused, and so are more fields than a message has") {
  auto build = Tagged(1);
  build.mutable_build();
  const std::string whole = build.SerializeAsString();
  CHECK_FALSE(Read(whole.substr(0, whole.size() - 1)).ok());
  CHECK_FALSE(Read(whole + "\xff").ok());
  CHECK_FALSE(Read(whole + "\x0c").ok());
  std::string unknown;
  for (int i = 0; i < 60; ++i) unknown += std::string("\x58\x01", 2);
  CHECK(Read(whole + unknown).ok());
  CHECK_FALSE(Read(whole + unknown + unknown).ok());
}

TEST_CASE("the build in a message is read as one") {
  auto message = Tagged(4);
  message.mutable_build()->mutable_nvrtc()->mutable_source()->set_inline_bytes("source");
  const std::string bytes = message.SerializeAsString();
  const std::string_view pieces[] = {bytes};
  ProtoReader input(pieces);
  const auto read = ReadOfMany(input, {}, [](const auto&) { return nullptr; });
  REQUIRE(read.ok());
  CHECK(std::get<cccl_cache::NvrtcProgram>(read->request->program).source == "source");
}

TEST_CASE("a failed build is told under its tag, with name, hint and as much text as fits") {
  Error error{ErrorCode::kOverloaded, std::string(5'000, 'x') + "\xff"};
  error.retry_after = std::chrono::milliseconds(30);
  const auto reply = MessageIn<v1::BuildManyReply>(EncodeTaggedError(9, error));
  CHECK(reply.tag() == 9);
  CHECK(reply.error().name() == "overloaded");
  CHECK(reply.error().message() == std::string(2'048, 'x'));
  CHECK(reply.error().retry_ms() == 30);
  const auto odd =
      MessageIn<v1::BuildManyReply>(EncodeTaggedError(0, {ErrorCode::kDenied, "a\xff"}));
  CHECK(odd.error().message() == "a?");
}

}  // namespace
}  // namespace cccl_cache::daemon
