// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <protobuf-c/protobuf-c.h>

#include <string_view>

#include "client/src/transport/byte_chain.h"

namespace cccl_cache {

/// Appends a message as gRPC sends it, with its length in front. Large fields are referred to, not
/// copied: they and the message must outlive the chain.
void AppendMessage(const ProtobufCMessage& message, ByteChain* body);

/// The same for a message with one field of bytes (UploadChunk), and for one without fields.
void AppendBytesMessage(uint32_t field, std::string_view bytes, ByteChain* body);
void AppendEmptyMessage(ByteChain* body);

}  // namespace cccl_cache
