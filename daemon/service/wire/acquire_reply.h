// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <cstdint>
#include <string_view>

#include "daemon/core/lease/deposit.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

// Each is one AcquireReply.

[[nodiscard]] grpc::ByteBuffer EncodeLease(uint64_t fence, std::chrono::milliseconds heartbeat,
                                           const cccl_cache::Digest& key);
[[nodiscard]] grpc::ByteBuffer EncodeFound(uint64_t size, const cccl_cache::Digest& key);
/// Some of these contents, where they lie.
[[nodiscard]] grpc::ByteBuffer EncodeContents(const DepositContents& contents,
                                              std::string_view bytes);
[[nodiscard]] grpc::ByteBuffer EncodePublished();

}  // namespace cccl_cache::daemon
