// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "daemon/remote/redis/redis_replies.h"

namespace cccl_cache::daemon {

/// Returns a reply as a short text: "OK", "error: ERR no", ":7", "nil", "[a, b]", and "lost" for
/// null.
[[nodiscard]] inline std::string Shown(const RedisReply* reply) {
  if (reply == nullptr) return "lost";
  switch (reply->kind) {
    case RedisReply::Kind::kNil:
      return "nil";
    case RedisReply::Kind::kText:
      return reply->text;
    case RedisReply::Kind::kInteger:
      return ":" + std::to_string(reply->integer);
    case RedisReply::Kind::kError:
      return "error: " + reply->text;
    case RedisReply::Kind::kArray:
      break;
  }
  std::string items;
  for (const RedisReply& item : reply->items) items += (items.empty() ? "" : ", ") + Shown(&item);
  return "[" + items + "]";
}

}  // namespace cccl_cache::daemon
