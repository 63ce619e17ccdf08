// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "cccl_cache/v1/admin.pb.h"
#include "daemon/service/wire/messages.h"
#include "tests/unit/service/byte_buffers.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

TEST_CASE("a small message is read as it was written") {
  v1::ToolchainsRequest message;
  message.set_driver_version(13000);
  auto bytes = Encode(message);
  v1::ToolchainsRequest read;
  REQUIRE(DecodeSmall(bytes, read).ok());
  CHECK(read.driver_version() == 13000);
}

TEST_CASE("a request larger than any of its kind is refused with both sizes") {
  v1::ToolchainsRequest message;
  auto bytes = BufferOf(std::string(kSmallRequestBytes + 1, '\0'));
  const Status read = DecodeSmall(bytes, message);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().code == ErrorCode::kInvalidRequest);
  CHECK(read.error().message == "a request of 4097 bytes: at most 4096 are allowed here");
}

TEST_CASE("bytes that are no message are refused by the name of what was expected") {
  v1::ToolchainsRequest message;
  auto bytes = BufferOf(std::string_view("\xff\xff"));
  const Status read = DecodeSmall(bytes, message);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message == "the message is not a cccl_cache.v1.ToolchainsRequest");
}

}  // namespace
}  // namespace cccl_cache::daemon
