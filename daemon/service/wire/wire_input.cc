// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/wire_input.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace cccl_cache::daemon {

WireInput::WireInput(std::span<const std::string_view> pieces) : pieces_(pieces) {
  for (const std::string_view piece : pieces) left_ += piece.size();
}

uint32_t WireInput::Next() {
  SkipField();
  if (!well_formed_ || left_ == 0) return 0;
  const uint64_t tag = Varint(kMaxSmallVarint);
  if (tag > UINT32_MAX || tag >> 3 == 0) well_formed_ = false;
  type_ = static_cast<uint8_t>(tag & 7);
  unread_ = well_formed_;
  return well_formed_ ? static_cast<uint32_t>(tag >> 3) : 0;
}

uint64_t WireInput::Number() { return Begin(kVarint) ? Varint(kMaxVarint) : 0; }

std::string WireInput::Bytes() {
  std::string bytes;
  uint64_t length = Begin(kLengthDelimited) ? Length() : 0;
  bytes.reserve(length);
  while (length > 0) {
    const std::string_view part = Take(length);
    bytes.append(part);
    length -= part.size();
  }
  return bytes;
}

std::string WireInput::Text() {
  std::string text = Bytes();
  if (!IsUtf8(text)) well_formed_ = false;
  return well_formed_ ? text : std::string();
}

WireInput::Nested::Nested(WireInput& input) : input_(input) {
  const uint64_t length = input.Begin(kLengthDelimited) ? input.Length() : 0;
  after_ = input.left_ - length;
  input.left_ = length;
}

WireInput::Nested::~Nested() {
  input_.SkipField();
  input_.Skip(input_.left_);
  input_.left_ = after_;
}

bool WireInput::Begin(Type type) {
  if (!unread_ || type_ != type) well_formed_ = false;
  unread_ = false;
  return well_formed_;
}

uint64_t WireInput::Varint(int longest) {
  uint64_t value = 0;
  for (int i = 0; i < longest && well_formed_ && left_ > 0; ++i) {
    const auto byte = static_cast<uint8_t>(Take(1).front());
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return value;
  }
  well_formed_ = false;
  return 0;
}

uint64_t WireInput::Length() {
  const uint64_t length = Varint(kMaxSmallVarint);
  if (length > left_) well_formed_ = false;
  return well_formed_ ? length : 0;
}

void WireInput::Skip(uint64_t bytes) {
  if (bytes > left_) well_formed_ = false;
  while (well_formed_ && bytes > 0) bytes -= Take(bytes).size();
}

void WireInput::SkipField() {
  if (!std::exchange(unread_, false)) return;
  switch (type_) {
    case kVarint:
      Varint(kMaxVarint);
      break;
    case kFixed64:
      Skip(8);
      break;
    case kLengthDelimited:
      Skip(Length());
      break;
    case kFixed32:
      Skip(4);
      break;
    default:
      well_formed_ = false;
  }
}

std::string_view WireInput::Take(uint64_t most) {
  while (piece_.empty()) {
    piece_ = pieces_.front();
    pieces_ = pieces_.subspan(1);
  }
  const std::string_view taken = piece_.substr(0, std::min(most, left_));
  piece_.remove_prefix(taken.size());
  left_ -= taken.size();
  return taken;
}

}  // namespace cccl_cache::daemon
