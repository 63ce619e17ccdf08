// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/file_descriptor.h"
#include "tests/support/http2_frames.h"
#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon::header_floods_test {
namespace {

/// The beginning of a header field of 1 MiB. gRPC waits for its end.
const std::string kUnfinishedField("\0\1x\x7f\x81\xff\x3f", 7);

/// Returns the fields of a call of Build in HPACK.
std::string CallFields() {
  std::string fields;
  const auto add = [&fields](std::string_view name, std::string_view value) {
    fields += '\0';
    fields += static_cast<char>(name.size());
    fields += name;
    fields += static_cast<char>(value.size());
    fields += value;
  };
  add(":method", "POST");
  add(":scheme", "http");
  add(":path", "/cccl_cache.v1.Build/Build");
  add(":authority", "x");
  add("te", "trailers");
  add("content-type", "application/grpc");
  return fields;
}

/// Connects, sends a header block without an end, and waits until the server ends the connection.
void Flood(const RunningServer& running) {
  const FileDescriptor client(ConnectRaw(running.socket()));
  REQUIRE(client.valid());
  std::string sent =
      kPreface + Frame(kSettingsFrame, 0, "") + Frame(kHeadersFrame, 0, kUnfinishedField);
  for (int i = 0; i < 4; ++i) sent += Frame(kContinuationFrame, 0, 16 << 10);
  [[maybe_unused]] const ssize_t count = send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL);
  REQUIRE(IsClosedByPeer(client.get()));
}

TEST_CASE("a client that sends an endless header block is cut off, counted and reported") {
  RunningServer running;
  auto stub = running.BuildStub();
  REQUIRE(BuildOver(*stub) == "cubin");
  Flood(running);
  CHECK(Eventually([&running] { return running.cut_offs_reported == 1; }));
  CHECK(running.statistics.Get(Counter::kCutOff) == 1);
  CHECK(BuildOver(*stub) == "cubin");
}

TEST_CASE("a client that announces a huge message is cut off, but may reconnect") {
  RunningServer running;
  const std::string sent = kPreface + Frame(kSettingsFrame, 0, "") +
                           Frame(kHeadersFrame, kEndOfHeaders, CallFields()) +
                           Frame(kDataFrame, 0, MessagePrefix(3u << 30));
  for (int i = 1; i <= 10; ++i) {
    const FileDescriptor client(ConnectRaw(running.socket()));
    REQUIRE(client.valid());
    REQUIRE(send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL) > 0);
    REQUIRE(IsClosedByPeer(client.get()));
    REQUIRE(Eventually([&running, i] { return running.cut_offs_reported == i; }));
  }
  CHECK(running.statistics.Get(Counter::kRefused) == 0);
  CHECK(BuildOver(*running.BuildStub()) == "cubin");
}

TEST_CASE("a user is refused for a while after repeated cut-offs") {
  RunningServer running;
  const auto noticed = [&statistics = running.statistics] {
    return statistics.Get(Counter::kCutOff) + statistics.Get(Counter::kRefused);
  };
  for (uint64_t i = 1; i <= 20 && running.statistics.Get(Counter::kRefused) == 0; ++i) {
    Flood(running);
    REQUIRE(Eventually([&noticed, i] { return noticed() == i; }));
  }
  CHECK(running.statistics.Get(Counter::kRefused) == 1);
}

}  // namespace
}  // namespace cccl_cache::daemon::header_floods_test
