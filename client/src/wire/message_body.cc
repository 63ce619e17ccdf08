// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/message_body.h"

#include <string>

#include "client/src/wire/wire_reader.h"

namespace cccl_cache {
namespace {

// Below this a copy costs less than another piece for the kernel to gather.
constexpr size_t kWorthReferring = 2048;

struct ChainBuffer {
  ProtobufCBuffer base;  // first: protobuf-c hands back a pointer to it
  ByteChain* chain;
};

// protobuf-c hands over each field by itself: what it made up is small, what is large is ours.
void AppendPiece(ProtobufCBuffer* buffer, size_t size, const uint8_t* data) {
  ByteChain* chain = reinterpret_cast<ChainBuffer*>(buffer)->chain;
  const std::string_view piece(reinterpret_cast<const char*>(data), size);
  if (size < kWorthReferring) {
    chain->Copy(piece);
  } else {
    chain->Refer(piece);
  }
}

void AppendPrefix(size_t size, ByteChain* body) {
  const char prefix[] = {0, static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                         static_cast<char>(size >> 8), static_cast<char>(size)};
  body->Copy({prefix, sizeof(prefix)});
}

}  // namespace

void AppendMessage(const ProtobufCMessage& message, ByteChain* body) {
  AppendPrefix(protobuf_c_message_get_packed_size(&message), body);
  ChainBuffer buffer = {{AppendPiece}, body};
  protobuf_c_message_pack_to_buffer(&message, &buffer.base);
}

void AppendBytesMessage(uint32_t field, std::string_view bytes, ByteChain* body) {
  std::string head;
  AppendVarint(field << 3 | 2, &head);
  AppendVarint(bytes.size(), &head);
  AppendPrefix(head.size() + bytes.size(), body);
  body->Copy(head);
  body->Refer(bytes);
}

void AppendEmptyMessage(ByteChain* body) { AppendPrefix(0, body); }

}  // namespace cccl_cache
