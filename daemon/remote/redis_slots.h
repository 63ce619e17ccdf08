// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/remote/redis_replies.h"

/// How the nodes of a Redis cluster say which of them has which keys.
namespace cccl_cache::daemon {

inline constexpr uint16_t kRedisSlots = 16384;

/// Returns the slot of a key: CRC16 (XMODEM) of the key or, if the key has "{...}" that is not
/// empty, of what stands within the first braces.
[[nodiscard]] uint16_t RedisSlotOf(std::string_view key);

/// A node of a cluster as another one names it.
struct RedisNodeName {
  std::string host;  ///< empty: that of the node that says so
  uint16_t port = 0;
};

/// An error that sends a command to another node.
struct RedisRedirect {
  bool once = false;  ///< ASK: only this command. Otherwise MOVED: all commands for this slot
  uint16_t slot = 0;
  RedisNodeName node;
};
/// Returns none if the error is no redirect, or a malformed one.
[[nodiscard]] std::optional<RedisRedirect> ParseRedisRedirect(std::string_view error);

/// The node that has the slots from the first to the last.
struct RedisSlotRange {
  uint16_t first = 0;
  uint16_t last = 0;
  RedisNodeName node;
};
/// Reads the answer to CLUSTER SLOTS. Malformed ranges are left out.
[[nodiscard]] std::vector<RedisSlotRange> ParseRedisSlots(const RedisReply& reply);

}  // namespace cccl_cache::daemon
