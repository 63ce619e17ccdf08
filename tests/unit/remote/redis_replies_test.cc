// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis/redis_replies.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/remote/shown_reply.h"

namespace redis_replies_test {

using namespace cccl_cache::daemon;

constexpr uint64_t kMaxReply = 1 << 20;

/// Feeds this many bytes at a time. Returns the replies as text, with a final "!" after a problem.
std::vector<std::string> Read(std::string_view bytes, size_t step,
                              uint64_t max_reply_bytes = kMaxReply) {
  RedisReplies replies(max_reply_bytes);
  std::vector<std::string> read;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    replies.Feed(bytes.substr(0, step));
    while (const RedisReply* reply = replies.Next()) read.push_back(Shown(reply));
  }
  if (!replies.problem().empty()) read.emplace_back("!");
  return read;
}

std::string Arrays(int depth) {
  std::string bytes;
  for (int i = 0; i < depth; ++i) bytes += "*1\r\n";
  return bytes + ":1\r\n";
}

TEST_CASE("replies of each kind are read, however their bytes arrive") {
  constexpr std::string_view kBytes =
      "+OK\r\n-ERR no\r\n:-7\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
      "*3\r\n$1\r\n0\r\n*2\r\n$-1\r\n+x\r\n:1\r\n+last\r\n";
  const std::vector<std::string> replies = {
      "OK", "error: ERR no", ":-7", "a\r\nbc", "", "nil", "nil", "[]", "[0, [nil, x], :1]", "last"};
  for (const size_t step : {size_t{1}, size_t{2}, size_t{7}, kBytes.size()}) {
    CAPTURE(step);
    CHECK(Read(kBytes, step) == replies);
  }
}

TEST_CASE("a reply may be as large as the limit, and no larger, however it arrives") {
  const std::string text(200, 'x');
  const std::string reply = "$200\r\n" + text + "\r\n";
  for (const size_t step : {size_t{1}, size_t{50}, size_t{1000}}) {
    CAPTURE(step);
    CHECK(Read("+a\r\n" + reply + reply + "+b\r\n", step, reply.size()) ==
          std::vector<std::string>{"a", text, text, "b"});
    CHECK(Read("+a\r\n" + reply, step, reply.size() - 1) == std::vector<std::string>{"a", "!"});
    const std::string half =
        "*2\r\n$100\r\n" + std::string(100, 'x') + "\r\n$100\r\n" + std::string(100, 'x') + "\r\n";
    CHECK(Read(half, step, 150) == std::vector<std::string>{"!"});
    // Refused before it is complete.
    CHECK(Read("*3" + half.substr(2), step, 150) == std::vector<std::string>{"!"});
  }
}

TEST_CASE("a reply that announces too many bytes is refused before they arrive") {
  for (const std::string announced :
       {"$9999999999\r\n", "$1048577\r\n", "$99999999999999999999999\r\n", "*2147483647\r\n",
        "*17\r\n", "*2\r\n$9999999999\r\n", "*-2\r\n", "$-2\r\n"}) {
    CAPTURE(announced);
    CHECK(Read(announced, announced.size()) == std::vector<std::string>{"!"});
  }
}

TEST_CASE("arrays are bounded in length, in depth and all together") {
  CHECK(Read(Arrays(RedisReplies::kMaxDepth), 1000) == std::vector<std::string>{"[[[[:1]]]]"});
  CHECK(Read(Arrays(RedisReplies::kMaxDepth + 1), 1000) == std::vector<std::string>{"!"});
  const std::string half = "*7\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n";
  CHECK(Read("*2\r\n" + half + half, 1000).front() != "!");
  CHECK(Read("*3\r\n" + half + half + ":1\r\n", 1000) == std::vector<std::string>{"!"});
}

TEST_CASE("a line above the limit is refused, with or without an end") {
  const std::string line(RedisReplies::kMaxLine, 'x');
  for (const size_t step : {size_t{64}, 2 * RedisReplies::kMaxLine}) {
    CAPTURE(step);
    CHECK(Read("+" + line + "\r\n", step) == std::vector<std::string>{line});
    CHECK(Read("+x" + line + "\r\n", step) == std::vector<std::string>{"!"});
    CHECK(Read("+x" + line + line, step) == std::vector<std::string>{"!"});
  }
}

TEST_CASE("bytes of other protocols are refused") {
  for (const std::string bytes :
       {"HTTP/1.1 400 Bad Request\r\n", "x", "\r\n", ":12x\r\n", "%1\r\n+a\r\n+b\r\n", ",1.5\r\n",
        "#t\r\n", "\x16\x03\x01", "$3\r\nabcdef\r\n+OK\r\n"}) {
    CAPTURE(bytes);
    const std::vector<std::string> read = Read(bytes, 1);
    REQUIRE_FALSE(read.empty());
    CHECK(read.back() == "!");
  }
}

}  // namespace redis_replies_test
