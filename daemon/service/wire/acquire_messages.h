// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/core/lease/deposit.h"
#include "daemon/core/model/result.h"
#include "proto/deposit_key.h"
#include "proto/digest.h"

namespace cccl_cache::v1 {
class DepositKey;
}

namespace cccl_cache::daemon {

/// Maximum bytes of contents in one message of an acquire.
inline constexpr uint64_t kAcquireChunkBytes = 1u << 20;

/// The first message of an acquire.
struct DepositAsk {
  std::string name_space;
  std::vector<DepositField> fields;
  std::optional<uint32_t> gid;
  std::chrono::milliseconds wait{0};
  bool accepts_release = false;
};
/// The messages from the holder of a lease.
struct LeaseHeartbeat {};
struct LeaseContents {
  std::string bytes;
};
struct LeasePublication {
  uint64_t fence = 0;
  uint64_t size = 0;
};
struct LeaseAbandonment {
  bool failed = false;
};

using AcquireMessage =
    std::variant<DepositAsk, LeaseHeartbeat, LeaseContents, LeasePublication, LeaseAbandonment>;

/// Decodes an AcquireRequest. kInvalidRequest: the bytes are malformed or exceed a limit.
[[nodiscard]] Result<AcquireMessage> DecodeAcquire(grpc::ByteBuffer& bytes);
/// Checks a decoded key. kInvalidRequest: the key exceeds a limit; the text names the field.
[[nodiscard]] Result<DepositAsk> AskOf(v1::DepositKey&& message);

// These functions return one AcquireReply.

[[nodiscard]] grpc::ByteBuffer EncodeLease(uint64_t fence, std::chrono::milliseconds heartbeat,
                                           const Digest& key);
[[nodiscard]] grpc::ByteBuffer EncodeFound(uint64_t size, const Digest& key);
/// Encodes a part of these contents without a copy.
[[nodiscard]] grpc::ByteBuffer EncodeContents(const DepositContents& contents,
                                              std::string_view bytes);
[[nodiscard]] grpc::ByteBuffer EncodePublished();
[[nodiscard]] grpc::ByteBuffer EncodeReleased(const Digest& key);

}  // namespace cccl_cache::daemon
