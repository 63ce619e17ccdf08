// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/remote/redis/redis_replies.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::daemon::RedisReplies;
using cccl_cache::daemon::RedisReply;

constexpr uint64_t kMaxReply = 512;

/// Checks the limits, and returns the reply's encoding. A status is encoded as a text with a
/// length.
std::string Written(const RedisReply& reply, int depth) {
  assert(depth <= RedisReplies::kMaxDepth + 1);
  switch (reply.kind) {
    case RedisReply::Kind::kNil:
      return "$-1\r\n";
    case RedisReply::Kind::kText:
      assert(reply.text.size() <= kMaxReply);
      return "$" + std::to_string(reply.text.size()) + "\r\n" + reply.text + "\r\n";
    case RedisReply::Kind::kInteger:
      return ":" + std::to_string(reply.integer) + "\r\n";
    case RedisReply::Kind::kError:
      assert(reply.text.find("\r\n") == std::string::npos);
      return "-" + reply.text + "\r\n";
    case RedisReply::Kind::kArray:
      break;
  }
  assert(reply.items.size() <= RedisReplies::kMaxItems);
  std::string bytes = "*" + std::to_string(reply.items.size()) + "\r\n";
  for (const RedisReply& item : reply.items) bytes += Written(item, depth + 1);
  return bytes;
}

struct Read {
  std::vector<std::string> replies;
  bool problem = false;

  bool operator==(const Read&) const = default;
};

Read ReadAll(std::string_view bytes, size_t step, uint64_t max_reply) {
  RedisReplies replies(max_reply);
  Read read;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    replies.Feed(bytes.substr(0, step));
    while (const RedisReply* reply = replies.Next()) read.replies.push_back(Written(*reply, 1));
  }
  read.problem = !replies.problem().empty();
  return read;
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  return {"+PONG\r\n",
          "-NOAUTH Authentication required.\r\n",
          ":1234\r\n$-1\r\n*-1\r\n$3\r\nabc\r\n",
          "*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$-1\r\n",
          "*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
          "*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n$2\r\n::\r\n:7000\r\n$2\r\nid\r\n*0\r\n",
          "$9999999999\r\n",
          "*2147483647\r\n",
          "$600\r\n" + std::string(600, 'x') + "\r\n"};
}

/// The result does not depend on the division into pieces, and an encoded reply is read unchanged.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Read read = ReadAll(bytes, std::max<size_t>(size, 1), kMaxReply);
  assert(ReadAll(bytes, 1, kMaxReply) == read);
  assert(ReadAll(bytes, 7, kMaxReply) == read);
  std::string written;
  for (const std::string& reply : read.replies) written += reply;
  // A status becomes a longer text, so this limit must be larger.
  const Read again = ReadAll(written, 64, 4 * kMaxReply + 64);
  assert(!again.problem && again.replies == read.replies);
  return 0;
}
