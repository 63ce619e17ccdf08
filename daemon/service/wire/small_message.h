// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Of a request to any method but those that take a build.
inline constexpr uint64_t kSmallRequestBytes = 4096;

/// kInvalidRequest: larger than kSmallRequestBytes, or not such a message.
[[nodiscard]] Status DecodeSmall(grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message);

[[nodiscard]] grpc::ByteBuffer Encode(const google::protobuf::MessageLite& message);

}  // namespace cccl_cache::daemon
