// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cccl_cache/v1/build.pb.h>

#include <catch2/catch.hpp>

#include "client/src/wire/messages.h"
#include "tests/unit/client/wire_bytes.h"

namespace message_sinks_test {

namespace v1 = cccl_cache::v1;
using cccl_cache::ChunkedReply;
using cccl_cache::SingleMessage;

namespace {

/// Returns a reply that announces artifacts of these sizes.
v1::BuildChunk Announcing(const std::vector<uint64_t>& sizes) {
  v1::BuildChunk chunk;
  chunk.mutable_reply()->set_log("log");
  for (const uint64_t size : sizes) {
    auto* artifact = chunk.mutable_reply()->add_artifacts();
    artifact->set_size(size);
    artifact->set_in_chunks(true);
  }
  return chunk;
}

v1::BuildChunk Piece(const std::string& data) {
  v1::BuildChunk chunk;
  chunk.set_data(data);
  return chunk;
}

std::string Contents(ChunkedReply& reply, size_t index) {
  return std::string(reply.contents()[index].View());
}

}  // namespace

TEST_CASE("a second message of a unary answer is an error") {
  SingleMessage sink;
  CHECK_FALSE(sink.received());
  CHECK(sink.Take(Received("one")));
  CHECK(sink.received());
  CHECK(sink.message().View() == "one");
  CHECK_FALSE(sink.Take(Received("two")));
  CHECK(sink.message().View() == "one");
}

TEST_CASE("after a restart only the new answer counts") {
  SingleMessage sink;
  CHECK(sink.Take(Received("one")));
  sink.Restart();
  CHECK_FALSE(sink.received());
  CHECK(sink.Take(Received("two")));
  ChunkedReply reply;
  CHECK(reply.Take(Received(Announcing({5}))));
  CHECK(reply.Take(Received(Piece("lost"))));
  reply.Restart();
  CHECK_FALSE(reply.complete());
  CHECK(reply.contents().empty());
  CHECK(reply.Take(Received(Announcing({5}))));
  CHECK(reply.Take(Received(Piece("found"))));
  CHECK(reply.complete());
  CHECK(Contents(reply, 0) == "found");
}

TEST_CASE("pieces fill the artifacts in order, wherever the pieces are cut") {
  ChunkedReply reply;
  CHECK(reply.Take(Received(Announcing({3, 0, 4, 0}))));
  CHECK_FALSE(reply.complete());
  CHECK(reply.Take(Received(Piece("ab"))));
  CHECK(reply.Take(Received(Piece("cde"))));
  CHECK_FALSE(reply.complete());
  CHECK(reply.Take(Received(Piece("fg"))));
  CHECK(reply.complete());
  REQUIRE(reply.contents().size() == 4);
  CHECK(Contents(reply, 0) == "abc");
  CHECK(Contents(reply, 1).empty());
  CHECK(Contents(reply, 2) == "defg");
  v1::BuildReply told;
  REQUIRE(told.ParseFromString(std::string(reply.reply().View())));
  CHECK(told.log() == "log");
}

TEST_CASE("data without a reply, beyond the announced size, or a second reply are refused") {
  ChunkedReply early;
  CHECK_FALSE(early.Take(Received(Piece("a"))));
  ChunkedReply more;
  CHECK(more.Take(Received(Announcing({1}))));
  CHECK_FALSE(more.Take(Received(Piece("ab"))));
  ChunkedReply twice;
  CHECK(twice.Take(Received(Announcing({}))));
  CHECK_FALSE(twice.Take(Received(Announcing({}))));
}

TEST_CASE("artifacts of impossible sizes are refused before memory is allocated") {
  ChunkedReply one;
  CHECK_FALSE(one.Take(Received(Announcing({UINT64_MAX}))));
  ChunkedReply together;
  CHECK_FALSE(together.Take(Received(Announcing({1, (uint64_t{2} << 30)}))));
}

TEST_CASE("malformed bytes are refused, outside and inside the reply") {
  ChunkedReply outside;
  CHECK_FALSE(outside.Take(Received("\x0a\x05x")));
  ChunkedReply inside;
  CHECK_FALSE(inside.Take(Received(std::string("\x0a\x03\x7a\x05x", 5))));
  ChunkedReply artifact;
  CHECK_FALSE(artifact.Take(Received(std::string("\x0a\x04\x7a\x02\x12\x05", 6))));
}

}  // namespace message_sinks_test
