// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Hostile answers to a build. The input is tried as gRPC framing, as a whole reply, as one answer
// of BuildMany, and as the messages of a reply in chunks.
#include <cccl_cache/v1/build.pb.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/src/calls/batch_calls.h"
#include "client/src/calls/file_answers.h"
#include "client/src/transport/call.h"
#include "client/src/transport/message_assembler.h"
#include "client/src/wire/build_reply.h"
#include "client/src/wire/messages.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::BatchStream;
using cccl_cache::BuildConversation;
using cccl_cache::BuildReply;
using cccl_cache::ChunkedReply;
using cccl_cache::Message;
using cccl_cache::MessageAssembler;

constexpr size_t kLimit = size_t{1} << 20;
constexpr uint64_t kSeedNumber = 7;

Message ToMessage(std::string_view bytes) {
  Message message = Message::WithRoomFor(bytes.size());
  std::memcpy(message.bytes.get(), bytes.data(), bytes.size());
  return message;
}

/// Checks that the announced artifacts exist and every byte of them can be read.
void CheckReply(const BuildReply& reply) {
  volatile char last = 0;
  for (size_t i = 0; i < reply.artifact_count(); ++i) {
    const BuildReply::Artifact& artifact = reply.fields().artifacts[i];
    assert(artifact.in_chunks || artifact.size == reply.contents(i).size());
    for (const char byte : reply.contents(i)) last = byte;
  }
  static_cast<void>(last);
  assert(reply.SameArtifacts(reply));
}

/// Returns the messages of a stream that arrives in pieces of this length; none if it is malformed.
std::optional<std::vector<std::string>> Messages(std::string_view stream, size_t piece) {
  std::vector<std::string> messages;
  MessageAssembler assembler(kLimit);
  while (!stream.empty()) {
    std::string_view bytes = stream.substr(0, piece);
    stream.remove_prefix(bytes.size());
    while (!bytes.empty()) {
      const auto state = assembler.Append(&bytes);
      if (state == MessageAssembler::State::kInvalid) return std::nullopt;
      if (state == MessageAssembler::State::kIncomplete) break;
      messages.emplace_back(assembler.Take().View());
    }
  }
  return messages;
}

void CheckChunks(const std::vector<std::string>& messages) {
  ChunkedReply sink;
  for (const std::string& message : messages) {
    if (!sink.Take(ToMessage(message))) return;
  }
  if (!sink.complete()) return;
  const auto reply =
      BuildReply::DecodeWithContents(std::move(sink.reply()), std::move(sink.contents()));
  if (!reply.ok()) return;
  CheckReply(*reply);
  assert(!reply->needs_chunks());
}

/// Checks an answer of BuildMany: it is accepted at most once, and is then a valid reply or an
/// error.
void CheckOneOfMany(std::string_view input) {
  int answers = 0;
  BatchStream stream([&](uint64_t, cccl_cache::Expected<BuildReply> reply) {
    ++answers;
    if (reply.ok()) CheckReply(*reply);
  });
  stream.Ask(kSeedNumber, nullptr);
  const bool taken = stream.Take(ToMessage(input));
  assert(taken || answers == 0);
  // No answer is reported for a build that was not requested.
  assert(answers == (stream.awaited().empty() ? 1 : 0));
}

std::string SeedReply(bool in_chunks) {
  namespace v1 = cccl_cache::v1;
  v1::BuildReply reply;
  reply.set_outcome(v1::OUTCOME_HIT);
  reply.set_log("ELF");
  auto& name = *reply.add_lowered_names();
  name.set_expression("ELF");
  name.set_lowered("LF");
  for (int i = 0; i < 2; ++i) {
    auto& artifact = *reply.add_artifacts();
    artifact.set_kind(v1::ARTIFACT_KIND_CUBIN);
    artifact.set_size(4);
    artifact.set_in_chunks(in_chunks);
    if (!in_chunks)
      artifact.set_contents(
          "\x7f"
          "ELF");
  }
  return reply.SerializeAsString();
}

std::string Framed(const std::string& message) {
  return std::string(3, '\0') + static_cast<char>(message.size() >> 8) +
         static_cast<char>(message.size()) + message;
}

/// Returns a field of BuildChunk: 1 is the reply, 2 the bytes.
std::string Chunk(int field, const std::string& bytes) {
  return Framed(std::string(1, static_cast<char>(field << 3 | 2)) +
                static_cast<char>(bytes.size()) + bytes);
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const std::string announced = SeedReply(true);
  assert(announced.size() < 128);
  // A BuildManyReply has a tag with a reply or an error.
  const std::string many =
      std::string("\x08\x07\x7a") + static_cast<char>(announced.size()) + announced;
  const std::string refused =
      "\x08\x07\x12\x0c\x0a\x0a"
      "overloaded";
  return {SeedReply(false),
          announced,
          many,
          refused,
          "%E2%82%AC 100%",
          Chunk(1, announced) +
              Chunk(2,
                    "\x7f"
                    "ELF\x7f") +
              Chunk(2, "ELF")};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto reply = BuildReply::Decode(ToMessage(input)); reply.ok()) CheckReply(*reply);
  assert(cccl_cache::PercentDecode(input).size() <= size);

  CheckOneOfMany(input);

  // Questions about files are decoded. They are not answered, because that would open files.
  const cccl_cache::RequestMessage request;
  BuildConversation conversation(request);
  if (!conversation.Take(ToMessage(input))) conversation.Restart();
  static_cast<void>(conversation.Take(ToMessage(input)));

  const auto messages = Messages(input, std::max<size_t>(size, 1));
  assert(Messages(input, 3) == messages);
  if (messages) CheckChunks(*messages);
  return 0;
}
