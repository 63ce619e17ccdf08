// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Answers to a build as something else than our daemon may send them: gRPC framing, a whole reply,
// and the messages of a reply in chunks.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "client/src/build_reply.h"
#include "client/src/grpc_status.h"
#include "client/src/message_assembler.h"
#include "client/src/message_sinks.h"

namespace {

using cccl_cache::BuildReply;
using cccl_cache::ChunkedReply;
using cccl_cache::Message;
using cccl_cache::MessageAssembler;

constexpr size_t kLimit = size_t{1} << 20;

Message ToMessage(std::string_view bytes) {
  Message message{std::make_unique<char[]>(bytes.size() + 1), bytes.size()};
  std::memcpy(message.bytes.get(), bytes.data(), bytes.size());
  return message;
}

// Every byte of every artifact must be ours to read.
void ReadAll(const BuildReply& reply) {
  volatile char last = 0;
  for (size_t i = 0; i < reply.artifact_count(); ++i) {
    for (const char byte : reply.contents(i)) last = byte;
  }
  static_cast<void>(last);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto reply = BuildReply::Decode(ToMessage(input)); reply.ok()) ReadAll(*reply);
  static_cast<void>(cccl_cache::PercentDecode(input));

  MessageAssembler assembler(kLimit);
  ChunkedReply sink;
  std::string_view rest = input;
  while (!rest.empty()) {
    const auto state = assembler.Append(&rest);
    if (state != MessageAssembler::State::kComplete) break;
    if (!sink.Take(assembler.Take())) return 0;
  }
  if (!sink.complete()) return 0;
  const auto reply =
      BuildReply::DecodeWithContents(std::move(sink.reply()), std::move(sink.contents()));
  if (reply.ok()) ReadAll(*reply);
  return 0;
}
