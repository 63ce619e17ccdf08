// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/acquire_messages.h"

#include <catch2/catch.hpp>

#include "cccl_cache/v1/deposit.pb.h"
#include "tests/unit/service/byte_buffers.h"

namespace cccl_cache::daemon::acquire_messages_test {
namespace {

namespace v1 = cccl_cache::v1;

Result<AcquireMessage> Decode(const v1::AcquireRequest& message) {
  auto bytes = BufferOf(message);
  return DecodeAcquire(bytes);
}

std::string Refusal(Result<AcquireMessage> decoded) {
  if (decoded.ok()) return "accepted";
  CHECK(decoded.error().code == ErrorCode::kInvalidRequest);
  return decoded.error().message;
}

v1::AcquireRequest Ask(int fields) {
  v1::AcquireRequest message;
  message.mutable_key()->set_namespace_("org.example");
  for (int i = 0; i < fields; ++i) {
    auto* field = message.mutable_key()->add_fields();
    field->set_name(std::to_string(i));
    field->set_value("value");
  }
  return message;
}

TEST_CASE("a deposit's key arrives with all its fields") {
  v1::AcquireRequest message = Ask(2);
  message.mutable_key()->mutable_group()->set_gid(7);
  message.mutable_key()->set_wait_ms(250);
  message.mutable_key()->set_accepts_release(true);
  const auto decoded = Decode(message);
  REQUIRE(decoded.ok());
  const auto& ask = std::get<DepositAsk>(*decoded);
  CHECK(ask.name_space == "org.example");
  REQUIRE(ask.fields.size() == 2);
  CHECK(ask.fields[1].name == "1");
  CHECK(ask.fields[1].value == "value");
  CHECK(ask.gid == 7u);
  CHECK(ask.wait == std::chrono::milliseconds(250));
  CHECK(ask.accepts_release);
  CHECK_FALSE(ask.waits_only);
  CHECK_FALSE(std::get<DepositAsk>(*Decode(Ask(0))).accepts_release);
  CHECK_FALSE(std::get<DepositAsk>(*Decode(Ask(0))).gid);
}

TEST_CASE("a caller that only waits must accept a release, and can't replace the deposit") {
  v1::AcquireRequest message = Ask(1);
  message.mutable_key()->set_waits_only(true);
  message.mutable_key()->set_replaces(true);
  CHECK_FALSE(std::get<DepositAsk>(*Decode(message)).waits_only);
  CHECK(std::get<DepositAsk>(*Decode(message)).replaces);
  message.mutable_key()->set_accepts_release(true);
  CHECK(std::get<DepositAsk>(*Decode(message)).waits_only);
  CHECK_FALSE(std::get<DepositAsk>(*Decode(message)).replaces);
}

TEST_CASE("messages of a lease's holder are decoded by their kind") {
  v1::AcquireRequest heartbeat;
  heartbeat.mutable_heartbeat();
  CHECK(std::holds_alternative<LeaseHeartbeat>(*Decode(heartbeat)));
  v1::AcquireRequest contents;
  contents.set_contents("bytes");
  CHECK(std::get<LeaseContents>(*Decode(contents)).bytes == "bytes");
  v1::AcquireRequest publication;
  publication.mutable_publication()->set_fence(3);
  publication.mutable_publication()->set_size(4);
  const auto published = std::get<LeasePublication>(*Decode(publication));
  CHECK(published.fence == 3);
  CHECK(published.size == 4);
  v1::AcquireRequest abandonment;
  abandonment.mutable_abandonment();
  CHECK_FALSE(std::get<LeaseAbandonment>(*Decode(abandonment)).failed);
  abandonment.mutable_abandonment()->set_failed(true);
  CHECK(std::get<LeaseAbandonment>(*Decode(abandonment)).failed);
}

TEST_CASE("a message without exactly one field is refused") {
  const std::string one = "exactly one member of an AcquireRequest must be set";
  CHECK(Refusal(Decode({})) == one);
  v1::AcquireRequest two = Ask(1);
  two.mutable_heartbeat();
  CHECK(Refusal(Decode(two)) == one);
}

TEST_CASE("the lengths of namespace and field names are limited") {
  v1::AcquireRequest message = Ask(1);
  message.mutable_key()->set_namespace_("");
  CHECK(Refusal(Decode(message)) == "namespace: 0 bytes, 1 to 128 are allowed");
  message.mutable_key()->set_namespace_(std::string(129, 'n'));
  CHECK(Refusal(Decode(message)) == "namespace: 129 bytes, 1 to 128 are allowed");
  message = Ask(1);
  message.mutable_key()->mutable_fields(0)->set_name("");
  CHECK(Refusal(Decode(message)) == "fields.name: 0 bytes, 1 to 256 are allowed");
  message.mutable_key()->mutable_fields(0)->set_name(std::string(257, 'n'));
  CHECK(Refusal(Decode(message)) == "fields.name: 257 bytes, 1 to 256 are allowed");
}

TEST_CASE("two fields of one name are refused") {
  v1::AcquireRequest message = Ask(2);
  message.mutable_key()->mutable_fields(1)->set_name("0");
  CHECK(Refusal(Decode(message)) == "fields: two have the same name");
}

TEST_CASE("the maximum number of fields is accepted, and one more refused") {
  CHECK(Decode(Ask(256)).ok());
  CHECK(Refusal(Decode(Ask(257))) == "fields: 257 entries, at most 256 are allowed");
}

TEST_CASE("hundreds of thousands of empty fields are refused before they are decoded") {
  std::string inner;
  for (int i = 0; i < 200'000; ++i) inner += std::string("\x12\x00", 2);
  std::string bytes("\x0a", 1);
  for (size_t length = inner.size(); length > 0; length >>= 7) {
    bytes.push_back(static_cast<char>((length & 0x7f) | (length >= 0x80 ? 0x80 : 0)));
  }
  auto buffer = BufferOf(bytes + inner);
  CHECK(Refusal(DecodeAcquire(buffer)).starts_with("the message is not a "));
}

TEST_CASE("a message larger than one piece is refused with the remedy") {
  auto bytes = BufferOf(std::string(kAcquireChunkBytes + 257, 'x'));
  CHECK(Refusal(DecodeAcquire(bytes)).find("send contents in pieces") != std::string::npos);
  v1::AcquireRequest full;
  full.set_contents(std::string(kAcquireChunkBytes, 'x'));
  CHECK(Decode(full).ok());
}

TEST_CASE("damaged bytes and invalid UTF-8 are refused") {
  for (const std::string& damaged :
       {std::string("\xff"), std::string("\x0a\x05x"), std::string("\x0a\x03\x0a\x01\xff", 5)}) {
    auto bytes = BufferOf(damaged);
    CHECK(Refusal(DecodeAcquire(bytes)).starts_with("the message is not a "));
  }
}

namespace v1 = cccl_cache::v1;

TEST_CASE("a lease message has the fence, the key and the heartbeat interval") {
  const auto key = cccl_cache::Sha256("key");
  const auto reply =
      MessageIn<v1::AcquireReply>(EncodeLease(7, std::chrono::milliseconds(500), key));
  CHECK(reply.lease().fence() == 7);
  CHECK(reply.lease().heartbeat_ms() == 500);
  CHECK(reply.lease().key() == key.Hex());
}

TEST_CASE("a found deposit is announced, then sent without a copy") {
  const auto key = cccl_cache::Sha256("key");
  const auto found = MessageIn<v1::AcquireReply>(EncodeFound(6, key));
  CHECK(found.found().size() == 6);
  CHECK(found.found().key() == key.Hex());
  auto contents = std::make_shared<const std::string>("abcdef");
  const std::weak_ptr<const std::string> held = contents;
  {
    const auto piece = EncodeContents(contents, std::string_view(*contents).substr(2, 3));
    contents.reset();
    CHECK_FALSE(held.expired());  // while gRPC may send it
    CHECK(MessageIn<v1::AcquireReply>(piece).contents() == "cde");
  }
  CHECK(held.expired());
}

TEST_CASE("a piece of 1 MiB is encoded unchanged") {
  const auto contents = std::make_shared<const std::string>(1u << 20, 'x');
  CHECK(MessageIn<v1::AcquireReply>(EncodeContents(contents, *contents)).contents() == *contents);
}

TEST_CASE("a publication is confirmed by a non-empty message") {
  CHECK(MessageIn<v1::AcquireReply>(EncodePublished()).has_published());
}

}  // namespace
}  // namespace cccl_cache::daemon::acquire_messages_test
