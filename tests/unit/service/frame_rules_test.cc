// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/frame_rules.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/http2_frames.h"

namespace cccl_cached {
namespace {

using std::chrono_literals::operator""s;

/// A connection, and the user's allowance, at a time that the test sets.
struct Client {
  FrameRules::Clock::time_point now{1'000s};
  std::shared_ptr<Cancellations> of_user;
  FrameRules rules;

  Client() : Client(nullptr) {}
  explicit Client(std::shared_ptr<Cancellations> shared)
      : of_user(shared ? std::move(shared) : std::make_shared<Cancellations>(now)),
        rules(of_user, now) {
    CHECK(Send(kPreface));
  }
  /// False if a rule is broken.
  bool Send(std::string_view bytes) {
    return rules.Take({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, now) ==
           nullptr;
  }
  /// How many of these frames without a payload are let through, of many.
  int CountTaken(const std::string& frame) {
    for (int i = 0; i < 20'000; ++i) {
      if (!Send(frame)) return i;
    }
    return 20'000;
  }
};

TEST_CASE("a call with a large message breaks no rule") {
  Client client;
  CHECK(client.Send(Frame(kSettingsFrame, 0, 18)));
  for (int call = 0; call < 5'000; ++call) {
    REQUIRE(client.Send(Frame(kHeadersFrame, kEndOfHeaders, 300)));
    REQUIRE(client.Send(Frame(kDataFrame, 0, FrameRules::kMaxFrameBytes)));
    REQUIRE(client.Send(Frame(kWindowFrame, 0, 4)));
    REQUIRE(client.Send(Frame(kDataFrame, kEndOfStream, 0)));
  }
}

TEST_CASE("a frame may be as long as gRPC announces, and no longer") {
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

TEST_CASE("nothing may come inside a header block but its continuation") {
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

TEST_CASE("frames that cost the client nothing are bounded at once and in time") {
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

TEST_CASE("empty continuations of one header block are bounded") {
  Client client;
  REQUIRE(client.Send(Frame(kHeadersFrame, 0, 10)));
  CHECK(client.CountTaken(Frame(kContinuationFrame, 0, 0)) == 2'000);
}

TEST_CASE("all connections of a user may cancel a bounded number of calls at once") {
  Client first;
  CHECK(first.CountTaken(Frame(kResetFrame, 0, 0)) == 2'000);
  int taken = 2'000;
  for (int i = 0; i < 4; ++i) {
    Client other(first.of_user);
    taken += other.CountTaken(Frame(kResetFrame, 0, 0));
  }
  CHECK(taken == Cancellations::kMaxAtOnce);
  Client of_another_user;
  CHECK(of_another_user.Send(Frame(kResetFrame, 0, 0)));
}

/// After how many bytes a rule is broken, if the conversation comes in such pieces.
std::optional<size_t> Judge(const std::string& conversation, const std::vector<size_t>& cuts) {
  const FrameRules::Clock::time_point now{};
  FrameRules rules(std::make_shared<Cancellations>(now), now);
  size_t begin = 0;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    const size_t end = i < cuts.size() ? cuts[i] : conversation.size();
    const std::string_view piece = std::string_view(conversation).substr(begin, end - begin);
    if (rules.Take({reinterpret_cast<const uint8_t*>(piece.data()), piece.size()}, now)) return end;
    begin = end;
  }
  return std::nullopt;
}

TEST_CASE("a conversation is judged alike however it is cut into pieces") {
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
}  // namespace cccl_cached
