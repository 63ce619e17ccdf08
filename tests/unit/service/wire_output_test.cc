// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/wire_output.h"

#include <catch2/catch.hpp>

#include "cccl_cache/v1/build.pb.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

TEST_CASE("numbers and bytes are what the generated code writes") {
  for (const uint64_t number : {uint64_t{0}, uint64_t{1}, uint64_t{127}, uint64_t{128},
                                uint64_t{300}, uint64_t{UINT32_MAX}, UINT64_MAX}) {
    v1::FileAnswer message;
    message.set_device(number);
    message.set_contents("contents");
    std::string bytes;
    AppendNumber(v1::FileAnswer::kDeviceFieldNumber, number, bytes);
    AppendBytes(v1::FileAnswer::kContentsFieldNumber, "contents", bytes);
    CHECK(bytes == message.SerializeAsString());
  }
}

TEST_CASE("what is empty is left out, but for a message") {
  std::string bytes;
  AppendNumber(1, 0, bytes);
  AppendBytes(2, "", bytes);
  CHECK(bytes.empty());
  AppendMessage(3, "", bytes);
  CHECK(bytes == std::string("\x1a\x00", 2));
}

TEST_CASE("a head announces bytes that follow") {
  std::string bytes;
  AppendHead(15, 300, bytes);
  CHECK(bytes == "\x7a\xac\x02");
}

}  // namespace
}  // namespace cccl_cache::daemon
