// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/build_reply.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <utility>

#include "client/src/wire/build_hint.h"
#include "client/src/wire/messages.h"
#include "tests/unit/client/canned_replies.h"

namespace build_reply_test {

using cccl_cache::BuildReply;
using cccl_cache::ChunkedReply;
using cccl_cache::HintFor;
using cccl_cache::Message;

namespace {

Message ToMessage(const std::string& bytes) {
  Message message = Message::WithRoomFor(bytes.size());
  std::memcpy(message.bytes.get(), bytes.data(), bytes.size());
  return message;
}

v1::BuildReply TwoArtifacts() {
  v1::BuildReply reply = HitWithCubin("the cubin");
  v1::Artifact* ptx = reply.add_artifacts();
  ptx->set_kind(v1::ARTIFACT_KIND_PTX);
  ptx->set_size(3);
  ptx->set_contents("ptx");
  return reply;
}

v1::BuildChunk ReplyChunk(uint64_t first, uint64_t second) {
  v1::BuildReply reply = TwoArtifacts();
  reply.mutable_artifacts(0)->clear_contents();
  reply.mutable_artifacts(0)->set_size(first);
  reply.mutable_artifacts(1)->clear_contents();
  reply.mutable_artifacts(1)->set_size(second);
  v1::BuildChunk chunk;
  *chunk.mutable_reply() = reply;
  return chunk;
}

v1::BuildChunk DataChunk(const std::string& data) {
  v1::BuildChunk chunk;
  chunk.set_data(data);
  return chunk;
}

}  // namespace

TEST_CASE("artifacts stay in the memory in which they were received") {
  Message message = ToMessage(TwoArtifacts().SerializeAsString());
  const char* start = message.bytes.get();
  const char* end = start + message.size;
  const auto reply = BuildReply::Decode(std::move(message));
  REQUIRE(reply.ok());
  REQUIRE(reply->artifact_count() == 2);
  CHECK(reply->contents(0) == "the cubin");
  CHECK(reply->contents(1) == "ptx");
  CHECK((reply->contents(0).data() > start && reply->contents(0).data() < end));
  CHECK(reply->fields().key == "00ff");
  CHECK(reply->fields().artifacts[1].size == 3);
}

TEST_CASE("texts that are not UTF-8 are returned as the compiler's own bytes") {
  v1::BuildReply reply = TwoArtifacts();
  reply.set_log("caf?");
  reply.set_log_bytes("caf\xe9");
  v1::LoweredName* name = reply.add_lowered_names();
  name->set_expression("k<'?'>");
  name->set_expression_bytes("k<'\xe9'>");
  name->set_lowered("_Z1k");
  const auto decoded = BuildReply::Decode(ToMessage(reply.SerializeAsString()));
  REQUIRE(decoded.ok());
  CHECK(decoded->fields().log == "caf\xe9");
  const size_t last = decoded->fields().lowered_names.size() - 1;
  CHECK(decoded->fields().lowered_names[last].expression == "k<'\xe9'>");
  CHECK(decoded->fields().lowered_names[last].lowered == "_Z1k");
}

TEST_CASE("an artifact that is not as long as it claims is refused") {
  v1::BuildReply reply = TwoArtifacts();
  reply.mutable_artifacts(1)->set_size(4);
  const auto decoded = BuildReply::Decode(ToMessage(reply.SerializeAsString()));
  REQUIRE_FALSE(decoded.ok());
  CHECK(decoded.error().status == CCCL_CACHE_PROTOCOL);
}

TEST_CASE("artifacts of an unknown kind are compared like others") {
  const auto decode = [](int kind) {
    v1::BuildReply reply = TwoArtifacts();
    reply.mutable_artifacts(1)->set_kind(static_cast<v1::ArtifactKind>(kind));
    return BuildReply::Decode(ToMessage(reply.SerializeAsString()));
  };
  const auto reply = decode(-1);
  REQUIRE(reply.ok());
  CHECK(reply->SameArtifacts(*decode(-1)));
  CHECK_FALSE(reply->SameArtifacts(*decode(77)));
}

TEST_CASE("a reply that is cut off anywhere is refused, or valid but shorter") {
  const std::string whole = TwoArtifacts().SerializeAsString();
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto decoded = BuildReply::Decode(ToMessage(whole.substr(0, size)));
    if (decoded.ok()) CHECK(decoded->artifact_count() < 2);
  }
}

TEST_CASE("bytes that are no reply are refused") {
  CHECK_FALSE(BuildReply::Decode(ToMessage("not protobuf at all")).ok());
  CHECK_FALSE(BuildReply::Decode(ToMessage("\x7a\x7f")).ok());
}

TEST_CASE("a reply in chunks is put together across the boundaries of its artifacts") {
  ChunkedReply sink;
  REQUIRE(sink.Take(ToMessage(ReplyChunk(5, 3).SerializeAsString())));
  CHECK_FALSE(sink.complete());
  REQUIRE(sink.Take(ToMessage(DataChunk("ab").SerializeAsString())));
  REQUIRE(sink.Take(ToMessage(DataChunk("cde").SerializeAsString())));
  REQUIRE(sink.Take(ToMessage(DataChunk("xyz").SerializeAsString())));
  REQUIRE(sink.complete());
  const auto reply =
      BuildReply::DecodeWithContents(std::move(sink.reply()), std::move(sink.contents()));
  REQUIRE(reply.ok());
  CHECK(reply->contents(0) == "abcde");
  CHECK(reply->contents(1) == "xyz");
  CHECK_FALSE(reply->needs_chunks());
}

TEST_CASE("a header that NVRTC can't open gets a hint: a host header, or a missing directory") {
  for (const char* log : {"k.cu(1): error: cannot open source file \"cstdio\"",
                          "error: could not open source file \"stdlib.h\" (no directories)"}) {
    CHECK(HintFor(log).find("<cuda/std/") != std::string::npos);
  }
  const std::string missing = "error: cannot open source file \"a/missing.h\"";
  CHECK(HintFor(missing).starts_with("that header is not in"));
  for (const char* way_out : {"append_toolchain_headers", "cccl-cache[cuda13]"}) {
    CHECK(HintFor(missing + " (no directories in search list)").find(way_out) != std::string::npos);
  }
}

TEST_CASE("common errors of NVRTC get a hint with the remedy, other errors get none") {
  for (const auto& [log, hint] :
       {std::pair{"host functions are not allowed in JIT mode.", "device"},
        {"Unresolved extern function '_Z1gi'", "-rdc=true"},
        {"nvrtc: error: invalid value for --std(-std)", "c++20"},
        {"invalid value for --gpu-architecture (-arch)", "sm_90"},
        {"unrecognized input type: ", "no PTX, cubin"}}) {
    CHECK(HintFor(log).find(hint) != std::string::npos);
  }
  CHECK(HintFor("k.cu(1): error: expected a \";\"").empty());
  CHECK(HintFor("").empty());
}

TEST_CASE("a file's name given as the source gets a hint, a name within a source gets none") {
  const std::string error = "default_program(1): error: expected a declaration\n  ";
  CHECK(HintFor(error + "/src/kernel.cu\n  ^\n").find("name of a file") != std::string::npos);
  CHECK(HintFor(error + "#include \"kernel.cu\"\n").empty());
  CHECK(HintFor("k.cu(7): error: expected a \";\"\n  cached.h\n").empty());
  CHECK(HintFor("k.cu(1): error: expected a declaration").empty());
}

TEST_CASE("a typo is not taken for host code") {
  const std::string host = "error: host functions are not allowed in JIT mode.\n";
  for (const char* cause :
       {"error: identifier \"flaot\" is undefined\n", "error: expected a \")\"\n"}) {
    CHECK(HintFor(cause + host).empty());
  }
}

}  // namespace build_reply_test
