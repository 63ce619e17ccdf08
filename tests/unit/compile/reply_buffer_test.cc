// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/reply.h"

namespace cccl_cache::daemon {
namespace {

TEST_CASE("a frame that comes byte by byte is complete with its last byte") {
  ReplyBuffer buffer(100);
  const std::string frame = EncodeFrameHeader(5) + "hello";
  for (const char byte : frame) {
    CHECK_FALSE(buffer.complete());
    REQUIRE(buffer.Append({&byte, 1}).ok());
  }
  REQUIRE(buffer.complete());
  CHECK(buffer.TakePayload() == "hello");
}

TEST_CASE("an empty payload is complete with its header") {
  ReplyBuffer buffer(100);
  REQUIRE(buffer.Append(EncodeFrameHeader(0)).ok());
  CHECK(buffer.complete());
}

TEST_CASE("a byte behind the frame is an error") {
  ReplyBuffer buffer(100);
  CHECK_FALSE(buffer.Append(EncodeFrameHeader(5) + "hello!").ok());
}

TEST_CASE("a frame over the bound is an error before any of it is kept") {
  ReplyBuffer buffer(4);
  const Status status = buffer.Append(EncodeFrameHeader(5));
  REQUIRE(!status.ok());
  CHECK(status.error().code == ErrorCode::kOutOfMemory);
}

TEST_CASE("memory for a frame is taken before its first byte, and only if it is within the bound") {
  std::vector<uint64_t> taken;
  const auto take = [&](uint64_t bytes) -> Status {
    taken.push_back(bytes);
    if (bytes > 5) return Error{ErrorCode::kTimedOut, "full"};
    return Ok{};
  };
  ReplyBuffer fits(100, take);
  REQUIRE(fits.Append(EncodeFrameHeader(5)).ok());
  CHECK(taken == std::vector<uint64_t>{5});
  ReplyBuffer full(100, take);
  const Status refused = full.Append(EncodeFrameHeader(6));
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kTimedOut);
  CHECK_FALSE(ReplyBuffer(100, take).Append(EncodeFrameHeader(101)).ok());
  CHECK(taken == std::vector<uint64_t>{5, 6});
}

TEST_CASE("what begins with anything but a frame's header is an error") {
  ReplyBuffer buffer(100);
  CHECK_FALSE(buffer.Append(std::string(kFrameHeaderBytes, 'x')).ok());
}

}  // namespace
}  // namespace cccl_cache::daemon
