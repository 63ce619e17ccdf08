// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "cccl_cache/v1/deposit.pb.h"
#include "daemon/service/wire/acquire_messages.h"
#include "tests/unit/service/byte_buffers.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

TEST_CASE("a lease is told with its number, its key and how often it wants to be heard of") {
  const auto key = cccl_cache::Sha256("key");
  const auto reply =
      MessageIn<v1::AcquireReply>(EncodeLease(7, std::chrono::milliseconds(500), key));
  CHECK(reply.lease().fence() == 7);
  CHECK(reply.lease().heartbeat_ms() == 500);
  CHECK(reply.lease().key() == key.Hex());
}

TEST_CASE("what was found is announced, then sent where it lies") {
  const auto key = cccl_cache::Sha256("key");
  const auto found = MessageIn<v1::AcquireReply>(EncodeFound(6, key));
  CHECK(found.found().size() == 6);
  CHECK(found.found().key() == key.Hex());
  auto contents = std::make_shared<const std::string>("abcdef");
  const std::weak_ptr<const std::string> held = contents;
  {
    const auto piece = EncodeContents(contents, std::string_view(*contents).substr(2, 3));
    contents.reset();
    CHECK_FALSE(held.expired());  // as long as gRPC may send it
    CHECK(MessageIn<v1::AcquireReply>(piece).contents() == "cde");
  }
  CHECK(held.expired());
}

TEST_CASE("a large piece keeps its length") {
  const auto contents = std::make_shared<const std::string>(1u << 20, 'x');
  CHECK(MessageIn<v1::AcquireReply>(EncodeContents(contents, *contents)).contents() == *contents);
}

TEST_CASE("a publication is confirmed by a message that is not empty") {
  CHECK(MessageIn<v1::AcquireReply>(EncodePublished()).has_published());
}

}  // namespace
}  // namespace cccl_cache::daemon
