// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/frame.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace frame_test {

using namespace cccl_cache::daemon;

namespace {

ZygoteHello Hello() {
  ZygoteHello hello;
  hello.nvrtc = LibraryFiles{"/cuda/libnvrtc.so.13", {"/cuda/libnvrtc-builtins.so.13.0"}};
  hello.nvvm = LibraryFiles{"/cuda/libnvvm.so.4", {}};
  hello.libdevice = "/cuda/libdevice.10.bc";
  hello.trusted_directories = {"/cuda/include", "/cuda/include/cccl"};
  return hello;
}

/// Every proper prefix of a message, and the message with one byte more, must be refused.
template <typename Decode>
void CheckNothingElseDecodes(const std::string& bytes, Decode decode) {
  for (size_t length = 0; length < bytes.size(); ++length) {
    INFO("cut to " << length << " of " << bytes.size());
    CHECK_FALSE(decode(std::string_view(bytes).substr(0, length)).ok());
  }
  CHECK_FALSE(decode(bytes + '\0').ok());
}

}  // namespace

TEST_CASE("control messages decode to themselves") {
  const std::vector<ControlMessage> messages = {
      Hello(),
      ZygoteHello{},
      ZygoteHello{.forks_ahead = false},
      SpawnRequest{1ull << 63, 4ull << 30},
      SpawnRequest{1, 2, true},
      SpawnRequest{1, 2, false, true},
      SpawnRequest{3, 4, false, false, true},
      SpawnRequest{3, 4, false, false, false, PchUse::kRead}};
  for (const ControlMessage& message : messages) {
    const std::string bytes = EncodeControlMessage(message);
    const Result<ControlMessage> decoded = DecodeControlMessage(bytes);
    REQUIRE(decoded);
    CHECK(*decoded == message);
    CheckNothingElseDecodes(bytes, DecodeControlMessage);
  }
}

TEST_CASE("a zygote's answers decode to themselves") {
  for (const ControlAnswer& answer :
       {ControlAnswer(ZygoteReady{}),
        ControlAnswer(ZygoteReady{SandboxKind::kReadsToolchain, "seccomp and more"}),
        ControlAnswer(LoadFailed{"no such file"})}) {
    const std::string bytes = EncodeControlAnswer(answer);
    const Result<ControlAnswer> decoded = DecodeControlAnswer(bytes);
    REQUIRE(decoded);
    CHECK(*decoded == answer);
    CheckNothingElseDecodes(bytes, DecodeControlAnswer);
  }
}

TEST_CASE("an unknown kind of sandbox is refused") {
  std::string bytes = EncodeControlAnswer(ZygoteReady{SandboxKind::kNone, "none"});
  REQUIRE(DecodeControlAnswer(bytes));
  for (const char kind : {'\0', '\4', '\xff'}) {
    bytes[1] = kind;
    CHECK_FALSE(DecodeControlAnswer(bytes));
  }
}

TEST_CASE("statuses decode to themselves") {
  const std::vector<StatusMessage> messages = {
      Spawned{4711}, SpawnFailed{"fork: Resource temporarily unavailable"},
      Exited{139, 1ull << 40, std::chrono::microseconds(123456), true}};
  for (const StatusMessage& message : messages) {
    const std::string bytes = EncodeStatusMessage(message);
    const Result<StatusMessage> decoded = DecodeStatusMessage(bytes);
    REQUIRE(decoded);
    CHECK(*decoded == message);
    CheckNothingElseDecodes(bytes, DecodeStatusMessage);
  }
}

TEST_CASE("a message does not decode as another kind") {
  CHECK_FALSE(DecodeControlMessage(EncodeControlAnswer(ZygoteReady{})));
  CHECK_FALSE(DecodeControlAnswer(EncodeStatusMessage(Spawned{1})));
  CHECK_FALSE(DecodeStatusMessage(EncodeControlMessage(SpawnRequest{})));
  CHECK_FALSE(DecodeStatusMessage(std::string(1, '\xff')));
}

TEST_CASE("the error of a message of another protocol version says so") {
  std::string bytes = EncodeControlMessage(Hello());
  bytes[1] = static_cast<char>(bytes[1] + 1);
  const Result<ControlMessage> decoded = DecodeControlMessage(bytes);
  REQUIRE_FALSE(decoded);
  CHECK(decoded.error().message.find("different versions") != std::string::npos);
}

TEST_CASE("a long error message is cut, so that it fits into a packet") {
  const Result<ControlAnswer> decoded =
      DecodeControlAnswer(EncodeControlAnswer(LoadFailed{std::string(1 << 20, 'x')}));
  REQUIRE(decoded);
  CHECK(std::get<LoadFailed>(*decoded).message.size() == 4096);
}

TEST_CASE("an excessive count of texts is refused before memory is allocated for them") {
  std::string bytes = EncodeControlMessage(ZygoteHello{});
  // The last field is the number of trusted directories.
  for (size_t i = bytes.size() - 4; i < bytes.size(); ++i) bytes[i] = '\xff';
  CHECK_FALSE(DecodeControlMessage(bytes));
}

TEST_CASE("a frame's header holds the reply's length, and a damaged header is refused") {
  const std::string header = EncodeFrameHeader(180'000);
  CHECK(header.size() == kFrameHeaderBytes);
  const Result<uint64_t> length = DecodeFrameHeader(header);
  REQUIRE(length);
  CHECK(*length == 180'000);
  CheckNothingElseDecodes(header, DecodeFrameHeader);
  CHECK(DecodeFrameHeader(EncodeFrameHeader(kMaxReplyBytes)));
  for (size_t i = 0; i < 8; ++i) {
    std::string broken = header;
    broken[i] ^= 1;
    INFO("byte " << i);
    CHECK_FALSE(DecodeFrameHeader(broken));
  }
}

}  // namespace frame_test
