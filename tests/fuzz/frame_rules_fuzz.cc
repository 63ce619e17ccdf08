// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/service/transport/frame_rules.h"
#include "tests/fuzz/seeds.h"
#include "tests/support/http2_frames.h"

namespace {

using namespace cccl_cache::daemon;

/// Returns whether the bytes break a rule if they arrive in pieces of this size.
bool Breaks(std::span<const uint8_t> bytes, size_t piece) {
  const FrameRules::Clock::time_point now{};
  FrameRules rules(std::make_shared<UserTraffic>(TrafficLimits{}, now), now);
  while (!bytes.empty()) {
    const size_t size = std::min(piece, bytes.size());
    if (rules.Received(bytes.first(size), now) != nullptr) return true;
    bytes = bytes.subspan(size);
  }
  return false;
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const std::string begin = kPreface + Frame(kSettingsFrame, 0, 6);
  const std::string call = Frame(kHeadersFrame, kEndOfHeaders, 40) +
                           Frame(kDataFrame, kEndOfStream, 30) + Frame(kWindowFrame, 0, 4);
  const std::string message = MessagePrefix(2) + "ab" + MessagePrefix(1 << 30);
  return {begin + call + call + Frame(kResetFrame, 0, 4) + Frame(kPingFrame, 0, 8),
          begin + Frame(kHeadersFrame, 0, 20) + Frame(kContinuationFrame, kEndOfHeaders, 9) + call,
          begin + Frame(kHeadersFrame, 0, 9'000) + Frame(kContinuationFrame, 0, 9'000),
          begin + Frame(kContinuationFrame, 0, 1),
          begin + Frame(kHeadersFrame, kEndOfHeaders, 40) + Frame(kDataFrame, 0, message)};
}

/// The result does not depend on the division into pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const bool broken = Breaks(bytes, size);
  for (const size_t piece : {1u, 9u, 10u, 1'000u}) assert(Breaks(bytes, piece) == broken);
  // No call is counted as open for ever, whatever both sides send. After an hour, no cancelled call
  // counts any more.
  const auto user = std::make_shared<UserTraffic>(TrafficLimits{.open_calls = 1},
                                                  FrameRules::Clock::time_point{});
  {
    FrameRules rules(user, {});
    const auto half = size / 2;
    if (rules.Received(bytes.first(half), {}) == nullptr) {
      rules.Sent(bytes.subspan(half));
      [[maybe_unused]] const auto* broken_then = rules.Received(bytes.first(half), {});
      if (size % 2 == 0) rules.End({});
    }
  }
  assert(user->OpenCall(FrameRules::Clock::time_point{} + std::chrono::hours(1)));
  return 0;
}
