// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/reply_buffer.h"

#include <catch2/catch.hpp>
#include <string>

#include "daemon/compile/frame.h"

namespace cccl_cached {
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
  CHECK(status.error().code == ErrorCode::kWorkerCrashed);
}

TEST_CASE("what begins with anything but a frame's header is an error") {
  ReplyBuffer buffer(100);
  CHECK_FALSE(buffer.Append(std::string(kFrameHeaderBytes, 'x')).ok());
}

}  // namespace
}  // namespace cccl_cached
