// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/deposit_conversation.h"

#include <cccl_cache/v1/deposit.pb-c.h>

#include <algorithm>
#include <utility>

#include "client/src/wire/messages.h"
#include "client/src/wire/wire_reader.h"

namespace cccl_cache {
namespace {

// Numbers in deposit.proto.
constexpr uint32_t kReplyFound = 1;
constexpr uint32_t kReplyContents = 2;
constexpr uint32_t kReplyLease = 3;
constexpr uint32_t kReplyPublished = 4;
constexpr uint32_t kFoundSize = 1;
constexpr uint32_t kFoundKey = 2;
constexpr uint32_t kLeaseFence = 1;
constexpr uint32_t kLeaseHeartbeat = 2;
constexpr uint32_t kLeaseKey = 3;
constexpr uint32_t kRequestContents = 3;

// The protocol's bound for the contents in one message.
constexpr size_t kLargestPiece = size_t{1} << 20;
// Beyond this it is no daemon of ours.
constexpr uint64_t kLargestDeposit = uint64_t{2} << 30;
// So much memory is taken for what is only announced.
constexpr uint64_t kReserved = uint64_t{16} << 20;

}  // namespace

bool DepositConversation::Take(Message message) {
  WireReader reader(message.View());
  WireField field;
  bool sound = true;
  while (sound && reader.Next(&field)) {
    if (!field.is_bytes) continue;
    if (field.number == kReplyFound) sound = TakeFound(field.bytes);
    if (field.number == kReplyContents) sound = TakeContents(field.bytes);
    if (field.number == kReplyLease) sound = TakeLease(field.bytes);
    if (field.number == kReplyPublished) sound = granted_ && !std::exchange(published_, true);
  }
  return sound && !reader.malformed();
}

bool DepositConversation::TakeFound(std::string_view found) {
  if (granted_ || std::exchange(announced_, true)) return false;
  WireReader reader(found);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == kFoundSize) size_ = field.value;
    if (field.number == kFoundKey && field.is_bytes) key_ = field.bytes;
  }
  if (reader.malformed() || size_ > kLargestDeposit) return false;
  contents_.reserve(std::min(size_, kReserved));
  return true;
}

bool DepositConversation::TakeContents(std::string_view contents) {
  if (!announced_ || contents.size() > size_ - contents_.size()) return false;
  contents_ += contents;
  return true;
}

bool DepositConversation::TakeLease(std::string_view lease) {
  if (announced_ || std::exchange(granted_, true)) return false;
  WireReader reader(lease);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == kLeaseFence) fence_ = field.value;
    if (field.number == kLeaseHeartbeat) heartbeat_ = std::chrono::milliseconds(field.value);
    if (field.number == kLeaseKey && field.is_bytes) key_ = field.bytes;
  }
  heartbeat_ = std::clamp<std::chrono::milliseconds>(heartbeat_, std::chrono::milliseconds(1),
                                                     std::chrono::hours(1));
  return !reader.malformed();
}

void DepositConversation::SayPublication(std::string_view contents) {
  rest_ = contents;
  published_size_ = contents.size();
  publication_due_ = true;
}

const ByteChain* DepositConversation::Next() {
  message_.Clear();
  CcclCache__V1__AcquireRequest request = CCCL_CACHE__V1__ACQUIRE_REQUEST__INIT;
  CcclCache__V1__LeaseHeartbeat heartbeat = CCCL_CACHE__V1__LEASE_HEARTBEAT__INIT;
  CcclCache__V1__LeasePublication publication = CCCL_CACHE__V1__LEASE_PUBLICATION__INIT;
  CcclCache__V1__LeaseAbandonment abandonment = CCCL_CACHE__V1__LEASE_ABANDONMENT__INIT;
  if (!rest_.empty()) {
    const std::string_view piece = rest_.substr(0, kLargestPiece);
    rest_.remove_prefix(piece.size());
    AppendBytesMessage(kRequestContents, piece, &message_);
    return &message_;
  }
  if (std::exchange(publication_due_, false)) {
    publication.fence = fence_;
    publication.size = published_size_;
    request.publication = &publication;
  } else if (std::exchange(abandonment_due_, false)) {
    request.abandonment = &abandonment;
  } else if (std::exchange(heartbeat_due_, false)) {
    request.heartbeat = &heartbeat;
  } else {
    return nullptr;
  }
  AppendMessage(request.base, &message_);
  return &message_;
}

}  // namespace cccl_cache
