// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/frame_rules.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/allocated_bytes.h"
#include "tests/support/http2_frames.h"

namespace cccl_cache::daemon::frame_rules_test {
namespace {

using std::chrono_literals::operator""s;

/// A connection with the traffic of its user and a clock that the test sets.
struct Client {
  FrameRules::Clock::time_point now{1'000s};
  std::shared_ptr<UserTraffic> of_user;
  FrameRules rules;

  Client() : Client(nullptr) {}
  explicit Client(std::shared_ptr<UserTraffic> shared)
      : of_user(shared ? std::move(shared) : std::make_shared<UserTraffic>(TrafficLimits{}, now)),
        rules(of_user, now) {
    CHECK(Send(kPreface));
  }
  /// Returns false if a rule is broken.
  bool Send(std::string_view bytes) {
    return rules.Received({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, now) ==
           nullptr;
  }
  bool Open(uint32_t stream = 1) { return Send(Frame(kHeadersFrame, kEndOfHeaders, 300, stream)); }
  void Answer(std::string_view bytes) {
    rules.Sent({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  /// Returns how many of 20,000 new calls, from this stream on, break no rule.
  int CountOpened(uint32_t stream = 1) {
    for (int i = 0; i < 20'000; ++i, stream += 2) {
      if (!Open(stream)) return i;
    }
    return 20'000;
  }
  /// Returns how many of 20,000 such frames break no rule.
  int CountTaken(const std::string& frame) {
    for (int i = 0; i < 20'000; ++i) {
      if (!Send(frame)) return i;
    }
    return 20'000;
  }
};

TEST_CASE("calls with large messages break no rule") {
  Client client;
  CHECK(client.Send(Frame(kSettingsFrame, 0, 18)));
  for (uint32_t stream = 1; stream < 10'000; stream += 2) {
    REQUIRE(client.Open(stream));
    REQUIRE(client.Send(Frame(kDataFrame, 0, MessagePrefix(40'000), stream)));
    for (int i = 0; i < 3; ++i) REQUIRE(client.Send(Frame(kDataFrame, 0, 13'000, stream)));
    REQUIRE(client.Send(Frame(kWindowFrame, 0, 4, stream)));
    REQUIRE(client.Send(Frame(kDataFrame, kEndOfStream, 1'000, stream)));
    client.Answer(Frame(kHeadersFrame, kEndOfHeaders | kEndOfStream, 50, stream));
  }
}

TEST_CASE("a connection keeps no memory for calls that were answered") {
  Client client;
  const size_t before = AllocatedBytes();
  constexpr uint32_t kEnd = 2 * FrameRules::kMaxOpenCalls;
  for (uint32_t stream = 1; stream < kEnd; stream += 2) REQUIRE(client.Open(stream));
  CHECK(AllocatedBytes() - before > (32u << 10));
  // One call stays open, so that the table never becomes empty.
  for (uint32_t stream = 1; stream < kEnd - 2; stream += 2) {
    client.Answer(Frame(kHeadersFrame, kEndOfHeaders | kEndOfStream, 50, stream));
  }
  CHECK(AllocatedBytes() - before < (8u << 10));
}

TEST_CASE("a frame may be as long as gRPC announces") {
  Client client;
  CHECK(client.Send(Frame(kDataFrame, 0, FrameRules::kMaxFrameBytes)));
  CHECK_FALSE(client.Send(Frame(kDataFrame, 0, FrameRules::kMaxFrameBytes + 1)));
}

TEST_CASE("a header block may have 16 KiB in all of its frames, and no more") {
  Client client;
  for (int block = 0; block < 3; ++block) {
    CHECK(client.Send(Frame(kHeadersFrame, 0, 384)));
    CHECK(client.Send(Frame(kContinuationFrame, 0, 8'000)));
    CHECK(client.Send(Frame(kContinuationFrame, kEndOfHeaders, 8'000)));
  }
  CHECK(client.Send(Frame(kHeadersFrame, 0, 385)));
  CHECK(client.Send(Frame(kContinuationFrame, 0, 8'000)));
  CHECK_FALSE(client.Send(Frame(kContinuationFrame, kEndOfHeaders, 8'000)));
}

TEST_CASE("a header block may be interrupted only by its continuation") {
  for (int type = kDataFrame; type <= kUnknownFrame; ++type) {
    if (type == kContinuationFrame) continue;
    Client client;
    REQUIRE(client.Send(Frame(kHeadersFrame, 0, 10)));
    CHECK_FALSE(client.Send(Frame(static_cast<FrameType>(type), kEndOfHeaders, 10)));
  }
}

TEST_CASE("a continuation without a header block breaks the rules") {
  Client client;
  CHECK_FALSE(client.Send(Frame(kContinuationFrame, kEndOfHeaders, 10)));
}

TEST_CASE("frames that cost the client nothing are limited at once and per second") {
  for (const FrameType type : {kPriorityFrame, kResetFrame, kSettingsFrame, kPushFrame, kPingFrame,
                               kGoawayFrame, kUnknownFrame}) {
    Client client;
    CHECK(client.CountTaken(Frame(type, 0, 0)) == 2'000);
    client.now += 1s;
    CHECK(client.CountTaken(Frame(type, 0, 0)) == 500);
    client.now += 3'600s;
    CHECK(client.CountTaken(Frame(type, 0, 0)) == 2'000);
  }
  Client client;
  CHECK(client.CountTaken(Frame(kDataFrame, 0, 0)) == 2'000);
}

TEST_CASE("a client may ping for each answer that it reads") {
  Client client;
  for (uint32_t stream = 1; stream < 20'000; stream += 2) {
    REQUIRE(client.Open(stream));
    client.Answer(Frame(kHeadersFrame, kEndOfHeaders | kEndOfStream, 50, stream));
    REQUIRE(client.Send(Frame(kPingFrame, 0, 8)));
  }
  for (uint32_t stream = 20'001; stream < 20'400; stream += 2) {
    REQUIRE(client.Open(stream));
    client.Answer(Frame(kHeadersFrame, kEndOfHeaders | kEndOfStream, 50, stream));
  }
  CHECK(client.CountTaken(Frame(kPingFrame, 0, 8)) == 64 + 2'000);
}

TEST_CASE("empty CONTINUATION frames of one header block are limited") {
  Client client;
  REQUIRE(client.Send(Frame(kHeadersFrame, 0, 10)));
  CHECK(client.CountTaken(Frame(kContinuationFrame, 0, 0)) == 2'000);
}

TEST_CASE("the calls that a user's connections cancel at once are limited in total") {
  Client first;
  CHECK(first.CountTaken(Frame(kResetFrame, 0, 0)) == 2'000);
  int taken = 2'000;
  for (int i = 0; i < 4; ++i) {
    Client other(first.of_user);
    taken += other.CountTaken(Frame(kResetFrame, 0, 0));
  }
  CHECK(taken == UserTraffic::kMaxCancelledAtOnce);
  Client of_another_user;
  CHECK(of_another_user.Send(Frame(kResetFrame, 0, 0)));
}

TEST_CASE("a message in frames of one byte each is cut off, one in frames of 64 bytes is not") {
  Client tiny;
  REQUIRE(tiny.Open());
  REQUIRE(tiny.Send(Frame(kDataFrame, 0, MessagePrefix(1 << 24))));
  const int taken = tiny.CountTaken(Frame(kDataFrame, 0, 1));
  CHECK(taken > 64 + 4'096);
  CHECK(taken < 4'300);
  Client another(tiny.of_user);
  REQUIRE(another.Open());
  REQUIRE(another.Send(Frame(kDataFrame, 0, MessagePrefix(1 << 24))));
  const int taken_of_another = another.CountTaken(Frame(kDataFrame, 0, 1));
  CHECK(taken_of_another >= 64);
  CHECK(taken_of_another < 70);

  Client small;
  REQUIRE(small.Open());
  REQUIRE(small.Send(Frame(kDataFrame, 0, MessagePrefix(1 << 24))));
  CHECK(small.CountTaken(Frame(kDataFrame, 0, 64)) == 20'000);
}

TEST_CASE("many empty messages are cut off, unless each answers a message of the server") {
  Client client;
  REQUIRE(client.Open());
  const int taken = client.CountTaken(Frame(kDataFrame, 0, MessagePrefix(0)));
  CHECK(taken > 64 + 4'096);
  CHECK(taken < 4'600);

  Client asked;
  REQUIRE(asked.Open());
  for (int i = 0; i < 20'000; ++i) {
    asked.Answer(Frame(kDataFrame, 0, MessagePrefix(20)));
    REQUIRE(asked.Send(Frame(kDataFrame, 0, MessagePrefix(0))));
  }
}

TEST_CASE("small frames at a low rate are always accepted") {
  Client client;
  REQUIRE(client.Open());
  for (int i = 0; i < 20'000; ++i) {
    client.now += 1s;
    REQUIRE(client.Send(Frame(kDataFrame, 0, MessagePrefix(0))));
  }
}

TEST_CASE("a message that announces more than the limit is cut off") {
  const auto limit = static_cast<uint32_t>(TrafficLimits{}.message_bytes);
  for (const uint32_t size : {limit, limit + 1, ~uint32_t{0}}) {
    const std::string messages = MessagePrefix(3) + "abc" + MessagePrefix(0) + MessagePrefix(size);
    for (size_t piece = 1; piece <= messages.size(); ++piece) {
      Client client;
      REQUIRE(client.Open());
      bool taken = true;
      for (size_t at = 0; at < messages.size(); at += piece) {
        taken = taken && client.Send(Frame(kDataFrame, 0, messages.substr(at, piece)));
      }
      CHECK(taken == (size <= limit));
    }
  }
}

TEST_CASE("interleaved messages of two calls are counted separately") {
  Client client;
  REQUIRE(client.Open(1));
  REQUIRE(client.Open(3));
  const std::string message = MessagePrefix(1'000) + std::string(1'000, '\xff');
  for (size_t at = 0; at < message.size(); at += 3) {
    REQUIRE(client.Send(Frame(kDataFrame, 0, message.substr(at, 3), 1)));
    REQUIRE(client.Send(Frame(kDataFrame, 0, message.substr(at, 3), 3)));
  }
}

TEST_CASE("the unanswered calls of a connection are limited") {
  Client client;
  CHECK(client.CountOpened() == FrameRules::kMaxOpenCalls);
}

TEST_CASE("a call that was answered, reset or refused no longer counts as open") {
  const std::vector<std::string> ends_by_server = {
      Frame(kHeadersFrame, kEndOfHeaders | kEndOfStream, 50), Frame(kDataFrame, kEndOfStream, 0),
      Frame(kResetFrame, 0, 4)};
  for (const std::string& end : ends_by_server) {
    Client client;
    REQUIRE(client.Open(1));
    client.Answer(Frame(kHeadersFrame, kEndOfHeaders, 50));
    client.Answer(end);
    CHECK(client.CountOpened(3) == FrameRules::kMaxOpenCalls);
  }
  Client client;
  REQUIRE(client.Open(1));
  REQUIRE(client.Send(Frame(kResetFrame, 0, 4)));
  CHECK(client.CountOpened(3) == FrameRules::kMaxOpenCalls);
}

TEST_CASE("data of a call that was answered breaks no rule") {
  Client client;
  REQUIRE(client.Open());
  REQUIRE(client.Send(Frame(kDataFrame, 0, MessagePrefix(100))));
  client.Answer(Frame(kHeadersFrame, kEndOfHeaders | kEndOfStream, 50));
  for (int i = 0; i < 1'000; ++i) {  // a window of 16 MiB
    REQUIRE(client.Send(Frame(kDataFrame, 0, std::string(16 << 10, '\xff'))));
  }
  CHECK(client.CountTaken(Frame(kDataFrame, 0, 1)) == 2'000);
}

TEST_CASE("header blocks that open no call are limited, trailers of open calls are not") {
  Client client;
  REQUIRE(client.Open(3));
  CHECK(client.CountTaken(Frame(kHeadersFrame, kEndOfHeaders, 10, 3)) == 20'000);
  CHECK(client.CountTaken(Frame(kHeadersFrame, kEndOfHeaders, 10, 1)) == 2'000);
}

TEST_CASE("calls that end with their connection, or arrive later, count as cancelled") {
  Client client;
  int dropped = client.CountOpened();
  client.rules.End(client.now);
  CHECK(client.of_user->OpenCall(client.now));
  Client late(client.of_user);
  late.rules.End(late.now);
  dropped += late.CountOpened();
  CHECK(dropped == UserTraffic::kMaxCancelledAtOnce);
  CHECK_FALSE(client.of_user->Connect(client.now));
  CHECK(client.of_user->Connect(client.now + 1s));
}

TEST_CASE("a user that cancelled too many calls must wait to connect") {
  std::vector<std::unique_ptr<Client>> clients;
  clients.push_back(std::make_unique<Client>());
  const auto of_user = clients.front()->of_user;
  for (int i = 0; i < 2; ++i) clients.push_back(std::make_unique<Client>(of_user));
  for (const auto& client : clients) CHECK(client->CountOpened() > 1'000);
  for (const auto& client : clients) client->rules.End(client->now);
  const auto now = clients.front()->now;  // 6,144 calls: 2,048 more than may be cancelled
  CHECK_FALSE(of_user->Connect(now + std::chrono::milliseconds(1'020)));
  CHECK(of_user->Connect(now + std::chrono::milliseconds(1'030)));
}

TEST_CASE("the credit of a large message does not allow many small frames") {
  Client client;
  REQUIRE(client.Open());
  REQUIRE(client.Send(Frame(kDataFrame, 0, MessagePrefix(16 << 20))));
  for (int i = 0; i < 1'000; ++i) REQUIRE(client.Send(Frame(kDataFrame, 0, 16 << 10)));
  const int taken = client.CountTaken(Frame(kDataFrame, 0, 1));
  CHECK(taken > 256 + 4'096);
  CHECK(taken < 4'500);
}

TEST_CASE("the unanswered calls of all connections of a user are limited in total") {
  const auto most = static_cast<int>(TrafficLimits{}.open_calls);
  std::vector<std::unique_ptr<Client>> clients;
  clients.push_back(std::make_unique<Client>());
  const auto of_user = clients.front()->of_user;
  int opened = clients.front()->CountOpened();
  while (clients.size() < 6) {
    clients.push_back(std::make_unique<Client>(of_user));
    opened += clients.back()->CountOpened();
  }
  CHECK(opened == most);
  CHECK(Client().Open());  // of another user

  SECTION("an answer makes room for one call") {
    clients.front()->Answer(Frame(kHeadersFrame, kEndOfHeaders | kEndOfStream, 50));
    CHECK(Client(of_user).CountOpened() == 1);
  }
  SECTION("an ended connection makes room at a limited rate, once its calls are freed") {
    const auto end = clients.front()->now;
    const auto opened_later = [&](std::chrono::milliseconds later) {
      Client next(of_user);
      next.now = end + later;
      return next.CountOpened();
    };
    clients.front()->rules.End(end);
    CHECK(opened_later(0s) == 0);
    CHECK(opened_later(1s) == 0);
    clients.front()->rules.Release();
    CHECK(opened_later(1s) == UserTraffic::kMaxCancelledPerSecond);
  }
}

TEST_CASE("calls received after the end of their connection count until they are freed") {
  const FrameRules::Clock::time_point now{1'000s};
  const auto of_user = std::make_shared<UserTraffic>(TrafficLimits{.open_calls = 100}, now);
  auto late = std::make_unique<Client>(of_user);
  late->rules.End(now);
  CHECK(late->CountOpened() == 100);
  CHECK_FALSE(of_user->OpenCall(now + 3'600s));
  SECTION("by a release") { late->rules.Release(); }
  SECTION("at the latest when the connection is forgotten") { late.reset(); }
  CHECK(of_user->OpenCall(now + 3'600s));
}

/// Cuts the conversation into pieces. Returns the end of the piece that breaks a rule, or none.
std::optional<size_t> Judge(const std::string& conversation, const std::vector<size_t>& cuts) {
  const FrameRules::Clock::time_point now{};
  FrameRules rules(std::make_shared<UserTraffic>(TrafficLimits{}, now), now);
  size_t begin = 0;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    const size_t end = i < cuts.size() ? cuts[i] : conversation.size();
    const std::string_view piece = std::string_view(conversation).substr(begin, end - begin);
    if (rules.Received({reinterpret_cast<const uint8_t*>(piece.data()), piece.size()}, now))
      return end;
    begin = end;
  }
  return std::nullopt;
}

TEST_CASE("a conversation is judged equally however it is cut into pieces") {
  std::mt19937 random(7);
  const auto below = [&random](size_t bound) { return random() % bound; };
  for (int round = 0; round < 200; ++round) {
    std::string conversation = kPreface;
    for (size_t frames = below(60); frames > 0; --frames) {
      const auto type = static_cast<FrameType>(below(4) == 0 ? below(kUnknownFrame) : below(2));
      conversation += Frame(type, below(4) == 0 ? 0 : kEndOfHeaders, below(3'000));
    }
    std::vector<size_t> every_byte;
    for (size_t i = 1; i < conversation.size(); ++i) every_byte.push_back(i);
    const auto broken_at = Judge(conversation, every_byte);
    CHECK(Judge(conversation, {}).has_value() == broken_at.has_value());
    std::vector<size_t> some;
    for (size_t at = below(2'000); at < conversation.size(); at += 1 + below(2'000)) {
      some.push_back(at);
    }
    const auto in_pieces = Judge(conversation, some);
    REQUIRE(in_pieces.has_value() == broken_at.has_value());
    if (broken_at) CHECK(*in_pieces >= *broken_at);
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::frame_rules_test
