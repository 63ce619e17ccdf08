// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/transport/frame_rules.h"

#include <algorithm>
#include <utility>

namespace cccl_cache::daemon {
namespace {

// Frame types of RFC 9113, section 6.
constexpr uint8_t kData = 0;
constexpr uint8_t kHeaders = 1;
constexpr uint8_t kReset = 3;
constexpr uint8_t kPing = 6;
constexpr uint8_t kWindowUpdate = 8;
constexpr uint8_t kContinuation = 9;
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;

/// Each gRPC message has a prefix of this size: one byte for compression, and the message's length
/// in four bytes, big endian.
constexpr unsigned kPrefixBytes = 5;

constexpr FrameRule kLongFrame{"a frame of more than 16 KiB"};
constexpr FrameRule kInsideBlock{"a frame inside a header block, or none before"};
constexpr FrameRule kLongBlock{"a header block of more than 16 KiB"};
constexpr FrameRule kCheap{"too many cancellations, pings or other small frames at once"};
constexpr FrameRule kCancelledByUser{
    "too many cancellations at once, with the user's other connections", false};
constexpr FrameRule kNoCalls{"too many header blocks of no call"};
constexpr FrameRule kLateCalls{"too many calls of a closed connection"};
constexpr FrameRule kOpenCalls{"too many calls whose answers were not sent"};
constexpr FrameRule kOpenOfUser{
    "too many calls whose answers were not sent, with the user's other connections", false};
constexpr FrameRule kSmallFrames{
    "messages in too many small frames, with the user's other connections", false};
constexpr FrameRule kAnnounced{
    "a message that is announced with more than twice what message_limit allows, and 32 MiB",
    false};

}  // namespace

bool UserTraffic::Connect(Clock::time_point now) {
  const MutexLock lock(mutex_);
  return cancelled_.HasAny(now) && connections_.Take(now);
}

/// Dropped calls are also among the cancelled calls. The count of cancelled calls falls with time,
/// but a daemon that gets little processor time may free dropped calls later. So the larger of both
/// counts.
bool UserTraffic::HasRoom(Clock::time_point now) {
  const double ending = std::max(static_cast<double>(dropped_calls_), cancelled_.Owed(now));
  return static_cast<double>(open_calls_) + ending + 1 <= static_cast<double>(limits_.open_calls);
}

bool UserTraffic::OpenCall(Clock::time_point now) {
  const MutexLock lock(mutex_);
  if (!HasRoom(now)) return false;
  ++open_calls_;
  return true;
}

void UserTraffic::CloseCall() {
  const MutexLock lock(mutex_);
  --open_calls_;
}

void UserTraffic::DropCalls(size_t calls, Clock::time_point now) {
  const MutexLock lock(mutex_);
  open_calls_ -= calls;
  dropped_calls_ += calls;
  cancelled_.Charge(static_cast<double>(calls), now);
}

bool UserTraffic::DropLateCall(Clock::time_point now) {
  const MutexLock lock(mutex_);
  if (!HasRoom(now) || !cancelled_.Take(now)) return false;
  ++dropped_calls_;
  return true;
}

void UserTraffic::ReleaseCalls(size_t calls) {
  const MutexLock lock(mutex_);
  dropped_calls_ -= calls;
}

std::span<const uint8_t> FrameReader::Take(std::span<const uint8_t>& bytes) {
  at_head_ = false;
  const auto take = [&bytes](uint64_t most) {
    const auto taken = bytes.first(std::min<uint64_t>(most, bytes.size()));
    bytes = bytes.subspan(taken.size());
    return taken;
  };
  if (left_ > 0) {
    const auto payload = take(left_);
    left_ -= payload.size();
    return payload;
  }
  for (const uint8_t byte : take(kHeadBytes - in_head_)) head_[in_head_++] = byte;
  if (in_head_ == kHeadBytes) {
    in_head_ = 0;
    at_head_ = true;
    left_ = size();
  }
  return {};
}

uint32_t FrameReader::size() const {
  return uint32_t{head_[0]} << 16 | uint32_t{head_[1]} << 8 | head_[2];
}

uint32_t FrameReader::stream() const {
  return (uint32_t{head_[5]} & 0x7f) << 24 | uint32_t{head_[6]} << 16 | uint32_t{head_[7]} << 8 |
         head_[8];
}

FrameRules::~FrameRules() {
  for (size_t i = 0; i < calls_.size(); ++i) of_user_->CloseCall();
  Release();
}

const FrameRule* FrameRules::Received(std::span<const uint8_t> bytes, Clock::time_point now) {
  while (!bytes.empty()) {
    const auto payload = received_.Take(bytes);
    const FrameRule* broken = nullptr;
    if (received_.at_head()) broken = TakeHead(now);
    if (received_.type() == kData && !payload.empty()) broken = TakeData(payload);
    if (broken != nullptr) return broken;
  }
  return nullptr;
}

const FrameRule* FrameRules::TakeHead(Clock::time_point now) {
  const uint32_t size = received_.size();
  const uint8_t type = received_.type();
  const uint8_t flags = received_.flags();
  if (size > kMaxFrameBytes) return &kLongFrame;
  if (in_block_ != (type == kContinuation)) return &kInsideBlock;
  if (type == kHeaders || type == kContinuation) {
    block_bytes_ += size;
    if (block_bytes_ > kMaxBlockBytes) return &kLongBlock;
    in_block_ = (flags & kEndHeaders) == 0;
    if (!in_block_) block_bytes_ = 0;
  }
  if (IsCheap() && !cheap_.Take(now)) {
    return &kCheap;
  }
  if (type == kReset && !of_user_->CancelCall(now)) {
    return &kCancelledByUser;
  }
  if (type == kReset) CloseCall(received_.stream());
  if (type == kData) return CountData(now);
  return type == kHeaders ? OpenCall(now) : nullptr;
}

/// WINDOW_UPDATE is not cheap: gRPC's clients must send it for the bytes that they read, and gRPC
/// keeps nothing for it.
bool FrameRules::IsCheap() {
  const uint8_t type = received_.type();
  if (type == kPing && pings_ > 0) {
    --pings_;
    return false;
  }
  if (type == kHeaders || type == kWindowUpdate) return false;
  if (type != kData) return true;
  if (FindCall(received_.stream()) == calls_.end()) return received_.size() < kFrameCost;
  return received_.size() == 0 && (received_.flags() & kEndStream) == 0;
}

const FrameRule* FrameRules::OpenCall(Clock::time_point now) {
  const uint32_t stream = received_.stream();
  // The streams that a client opens have odd, rising numbers (RFC 9113, section 5.1.1). A header
  // block of any other stream opens no call.
  if (stream % 2 == 0 || stream <= last_stream_) {
    const bool trailers = FindCall(stream) != calls_.end();
    return trailers || cheap_.Take(now) ? nullptr : &kNoCalls;
  }
  last_stream_ = stream;
  if (ended_) {
    if (!of_user_->DropLateCall(now)) return &kLateCalls;
    ++dropped_;
    return nullptr;
  }
  if (calls_.size() >= kMaxOpenCalls) return &kOpenCalls;
  if (!of_user_->OpenCall(now)) {
    return &kOpenOfUser;
  }
  calls_.push_back({stream});
  return nullptr;
}

const FrameRule* FrameRules::CountData(Clock::time_point now) {
  const auto found = FindCall(received_.stream());
  if (found == calls_.end()) return nullptr;
  Call& call = *found;
  call.earned = std::min(call.earned + received_.size(), kMaxEarned);
  if (call.earned >= kFrameCost) {
    call.earned -= kFrameCost;
    return nullptr;
  }
  return of_user_->SendSmallFrame(now) ? nullptr : &kSmallFrames;
}

const FrameRule* FrameRules::TakeData(std::span<const uint8_t> payload) {
  const auto found = FindCall(received_.stream());
  if (found == calls_.end()) return nullptr;
  Call& call = *found;
  while (!payload.empty()) {
    const auto skipped = std::min<uint64_t>(call.of_message, payload.size());
    call.of_message -= skipped;
    payload = payload.subspan(skipped);
    for (; call.of_message == 0 && !payload.empty(); payload = payload.subspan(1)) {
      call.announced = call.announced << 8 | payload.front();
      if (++call.prefix < kPrefixBytes) continue;
      call.of_message = call.announced & 0xffff'ffff;
      call.prefix = 0;
      call.announced = 0;
      if (call.of_message > of_user_->limits().message_bytes) {
        return &kAnnounced;
      }
    }
  }
  return nullptr;
}

void FrameRules::Sent(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    sent_.Take(bytes);
    if (!sent_.at_head()) continue;
    const auto call = FindCall(sent_.stream());
    if (call == calls_.end()) continue;
    const uint8_t type = sent_.type();
    const bool ends = (type == kData || type == kHeaders) && (sent_.flags() & kEndStream) != 0;
    if (type == kData || type == kHeaders) {
      call->earned = std::min(call->earned + kEarnedByAnswer + sent_.size(), kMaxEarned);
      pings_ = std::min(pings_ + 1, kMaxPings);
    }
    if (ends || type == kReset) CloseCall(sent_.stream());
  }
}

FrameRules::Calls::iterator FrameRules::FindCall(uint32_t stream) {
  const auto found = std::ranges::lower_bound(calls_, stream, {}, &Call::stream);
  return found == calls_.end() || found->stream != stream ? calls_.end() : found;
}

void FrameRules::CloseCall(uint32_t stream) {
  const auto call = FindCall(stream);
  if (call == calls_.end()) return;
  calls_.erase(call);
  of_user_->CloseCall();
}

void FrameRules::End(Clock::time_point now) {
  ended_ = true;
  of_user_->DropCalls(calls_.size(), now);
  dropped_ += calls_.size();
  calls_.clear();
}

void FrameRules::Release() { of_user_->ReleaseCalls(std::exchange(dropped_, 0)); }

}  // namespace cccl_cache::daemon
