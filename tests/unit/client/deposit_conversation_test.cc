// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cccl_cache/v1/deposit.pb.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "client/src/leases/lease.h"

namespace deposit_conversation_test {

namespace {

namespace v1 = cccl_cache::v1;
using cccl_cache::DepositConversation;
using cccl_cache::Message;

bool Take(DepositConversation& talk, const v1::AcquireReply& reply) {
  const std::string bytes = reply.SerializeAsString();
  Message message = Message::WithRoomFor(bytes.size());
  bytes.copy(message.bytes.get(), bytes.size());
  return talk.Take(std::move(message));
}

v1::AcquireReply Found(uint64_t size) {
  v1::AcquireReply reply;
  reply.mutable_found()->set_size(size);
  reply.mutable_found()->set_key("00ff");
  return reply;
}

v1::AcquireReply Contents(const std::string& bytes) {
  v1::AcquireReply reply;
  reply.set_contents(bytes);
  return reply;
}

v1::AcquireReply Granted() {
  v1::AcquireReply reply;
  reply.mutable_lease()->set_fence(7);
  reply.mutable_lease()->set_heartbeat_ms(250);
  reply.mutable_lease()->set_key("00ff");
  return reply;
}

v1::AcquireReply Released() {
  v1::AcquireReply reply;
  reply.mutable_released()->set_key("00ff");
  return reply;
}

/// Returns the next message without gRPC's five bytes; an empty message if there is none.
v1::AcquireRequest Said(DepositConversation& talk) {
  v1::AcquireRequest request;
  const cccl_cache::ByteChain* chain = talk.Next();
  if (chain == nullptr) return request;
  std::vector<iovec> pieces(8);
  pieces.resize(chain->Describe({}, pieces));
  std::string bytes;
  for (const iovec& piece : pieces)
    bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  REQUIRE(bytes.size() >= 5);
  REQUIRE(request.ParseFromString(bytes.substr(5)));
  return request;
}

}  // namespace

TEST_CASE("a deposit in pieces is complete after its last piece") {
  DepositConversation talk;
  CHECK(Take(talk, Found(5)));
  CHECK_FALSE(talk.found());
  CHECK(Take(talk, Contents("abc")));
  CHECK_FALSE(talk.found());
  CHECK(Take(talk, Contents("de")));
  CHECK(talk.found());
  CHECK(talk.contents() == "abcde");
  CHECK(talk.key() == "00ff");
  CHECK_FALSE(talk.granted());
}

TEST_CASE("an impossible answer about a deposit is refused") {
  DepositConversation talk;
  SECTION("more contents than announced") {
    CHECK(Take(talk, Found(2)));
    CHECK_FALSE(Take(talk, Contents("abc")));
  }
  SECTION("contents without an announcement") { CHECK_FALSE(Take(talk, Contents("abc"))); }
  SECTION("a lease besides a deposit") {
    CHECK(Take(talk, Found(2)));
    CHECK_FALSE(Take(talk, Granted()));
  }
  SECTION("a deposit besides a lease") {
    CHECK(Take(talk, Granted()));
    CHECK_FALSE(Take(talk, Found(2)));
  }
  SECTION("a release besides a deposit") {
    CHECK(Take(talk, Found(2)));
    CHECK_FALSE(Take(talk, Released()));
  }
  SECTION("a lease after a release") {
    CHECK(Take(talk, Released()));
    CHECK_FALSE(Take(talk, Granted()));
  }
  SECTION("an announced size beyond memory") { CHECK_FALSE(Take(talk, Found(uint64_t{1} << 40))); }
  SECTION("a publication without a lease") {
    v1::AcquireReply reply;
    reply.mutable_published();
    CHECK_FALSE(Take(talk, reply));
  }
}

TEST_CASE("the holder of a lease sends heartbeats, then the contents, then the publication") {
  DepositConversation talk;
  CHECK(Take(talk, Granted()));
  CHECK(talk.fence() == 7);
  CHECK(talk.heartbeat() == std::chrono::milliseconds(250));
  CHECK(talk.Next() == nullptr);
  talk.SayHeartbeat();
  CHECK(Said(talk).has_heartbeat());
  CHECK(talk.Next() == nullptr);
  const std::string made((1 << 20) + 3, 'x');
  talk.SayPublication(made);
  CHECK(Said(talk).contents().size() == 1 << 20);
  CHECK(Said(talk).contents() == "xxx");
  const v1::AcquireRequest last = Said(talk);
  CHECK(last.publication().fence() == 7);
  CHECK(last.publication().size() == made.size());
  CHECK(talk.Next() == nullptr);
  v1::AcquireReply reply;
  reply.mutable_published();
  CHECK(Take(talk, reply));
  CHECK(talk.published());
}

TEST_CASE("a call that is sent again starts over") {
  DepositConversation talk;
  CHECK(Take(talk, Found(2)));
  talk.Restart();
  CHECK(Take(talk, Granted()));
  talk.SayAbandonment(false);
  const v1::AcquireRequest said = Said(talk);
  CHECK(said.has_abandonment());
  CHECK_FALSE(said.abandonment().failed());
}

TEST_CASE("a release ends the wait, and a holder can send its failure") {
  DepositConversation waits;
  CHECK(Take(waits, Released()));
  CHECK(waits.released());
  CHECK(waits.key() == "00ff");
  DepositConversation holds;
  CHECK(Take(holds, Granted()));
  CHECK_FALSE(holds.released());
  holds.SayAbandonment(true);
  CHECK(Said(holds).abandonment().failed());
}

}  // namespace deposit_conversation_test
