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

/// Maximum bytes of a deposit's contents in one message of a call of Acquire.
inline constexpr uint64_t kAcquireChunkBytes = 1u << 20;

/// The first message of a call of Acquire: the key of a deposit, and how long the caller waits for
/// it.
struct DepositAsk {
  std::string name_space;
  std::vector<DepositField> fields;
  std::optional<uint32_t> gid;
  std::chrono::milliseconds wait{0};
  bool accepts_release = false;
  bool released_at_limit = false;
  bool replaces = false;  ///< not with `waits_only`
  bool waits_only = false;
};
/// The messages that the holder of a lease sends later in the call.
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

/// Decodes an AcquireRequest. kInvalidRequest: the bytes are malformed, not exactly one member is
/// set, or a limit is exceeded.
[[nodiscard]] Result<AcquireMessage> DecodeAcquire(grpc::ByteBuffer& bytes);
/// Converts a decoded key. kInvalidRequest: the key exceeds a limit. The error's text names the
/// field.
[[nodiscard]] Result<DepositAsk> AskOf(v1::DepositKey&& message);

// Each of these functions returns one encoded AcquireReply.

[[nodiscard]] grpc::ByteBuffer EncodeLease(uint64_t fence, std::chrono::milliseconds heartbeat,
                                           const Digest& key);
[[nodiscard]] grpc::ByteBuffer EncodeFound(uint64_t size, const Digest& key);
/// `bytes` must be a part of `contents`. It is not copied: the reply shares ownership of
/// `contents`.
[[nodiscard]] grpc::ByteBuffer EncodeContents(const DepositContents& contents,
                                              std::string_view bytes);
[[nodiscard]] grpc::ByteBuffer EncodePublished();
[[nodiscard]] grpc::ByteBuffer EncodeReleased(const Digest& key);

}  // namespace cccl_cache::daemon
