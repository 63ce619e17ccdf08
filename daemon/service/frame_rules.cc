// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/frame_rules.h"

#include <algorithm>

namespace cccl_cached {
namespace {

// RFC 9113, section 6.
constexpr uint8_t kData = 0;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kReset = 3;
constexpr uint8_t kWindowUpdate = 8;
constexpr uint8_t kContinuation = 9;
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;

/// gRPC's clients send a WINDOW_UPDATE for what they read, so it is not among them: gRPC adds a
/// number and keeps nothing.
bool IsCheap(uint8_t type, uint8_t flags, uint32_t size) {
  if (type == kData) return size == 0 && (flags & kEndStream) == 0;
  return type != kHeaders && type != kWindowUpdate;
}

}  // namespace

const char* FrameRules::Take(std::span<const uint8_t> bytes, Clock::time_point now) {
  while (!bytes.empty()) {
    if (skip_ > 0) {
      const auto skipped = std::min<uint64_t>(skip_, bytes.size());
      skip_ -= skipped;
      bytes = bytes.subspan(skipped);
      continue;
    }
    const size_t taken = std::min(kHeadBytes - in_head_, bytes.size());
    std::copy_n(bytes.begin(), taken, head_.begin() + static_cast<ptrdiff_t>(in_head_));
    in_head_ += taken;
    bytes = bytes.subspan(taken);
    if (in_head_ < kHeadBytes) break;
    in_head_ = 0;
    if (const char* broken = TakeHead(now)) return broken;
  }
  return nullptr;
}

const char* FrameRules::TakeHead(Clock::time_point now) {
  const uint32_t size = uint32_t{head_[0]} << 16 | uint32_t{head_[1]} << 8 | head_[2];
  const uint8_t type = head_[3];
  const uint8_t flags = head_[4];
  skip_ = size;
  if (size > kMaxFrameBytes) return "a frame of more than 16 KiB";
  if (in_block_ != (type == kContinuation)) return "a frame inside a header block, or none before";
  if (type == kHeaders || type == kContinuation) {
    block_bytes_ += size;
    if (block_bytes_ > kMaxBlockBytes) return "a header block of more than 16 KiB";
    in_block_ = (flags & kEndHeaders) == 0;
    if (!in_block_) block_bytes_ = 0;
  }
  if (IsCheap(type, flags, size) && !cheap_.Take(now)) {
    return "too many cancellations, pings or other small frames at once";
  }
  if (type == kReset && !of_user_->Take(now)) {
    return "too many cancellations at once, with the user's other connections";
  }
  return nullptr;
}

}  // namespace cccl_cached
