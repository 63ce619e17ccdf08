// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/wire.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "base/text.h"

namespace cccl_cache {

ProtoReader::ProtoReader(std::span<const std::string_view> pieces) : pieces_(pieces) {
  for (const std::string_view piece : pieces) left_ += piece.size();
}

uint32_t ProtoReader::Next() {
  SkipField();
  if (left_ == 0) return 0;
  field_ = piece_.data();
  const uint64_t tag = Varint(kMaxSmallVarint);
  if (tag > UINT32_MAX || tag >> 3 == 0) Fail();
  type_ = static_cast<uint8_t>(tag & 7);
  unread_ = ok_;
  return ok_ ? static_cast<uint32_t>(tag >> 3) : 0;
}

uint64_t ProtoReader::Number() { return Begin(kVarint) ? Varint(kMaxVarint) : 0; }

double ProtoReader::Real() {
  uint64_t bits = 0;
  if (!Begin(kFixed64) || left_ < sizeof(bits)) {
    Fail();
    return 0;
  }
  for (size_t i = 0; i < sizeof(bits); ++i) {
    bits |= static_cast<uint64_t>(static_cast<uint8_t>(Take(1).front())) << (8 * i);
  }
  return std::bit_cast<double>(bits);
}

std::string ProtoReader::Bytes() {
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

std::string ProtoReader::Text() {
  std::string text = Bytes();
  if (!IsUtf8(text)) Fail();
  return ok_ ? text : std::string();
}

std::string_view ProtoReader::View() {
  assert(pieces_.empty());
  const uint64_t length = Begin(kLengthDelimited) ? Length() : 0;
  return length > 0 ? Take(length) : piece_.substr(0, 0);
}

ProtoReader ProtoReader::Message() {
  const uint64_t length = Begin(kLengthDelimited) ? Length() : 0;
  ProtoReader message = *this;
  message.left_ = length;
  message.outer_ = this;
  Skip(length);
  return message;
}

std::string_view ProtoReader::Whole() {
  assert(pieces_.empty());
  SkipField();
  return ok_ ? std::string_view(field_, static_cast<size_t>(piece_.data() - field_))
             : std::string_view();
}

void ProtoReader::Fail() {
  for (ProtoReader* reader = this; reader != nullptr; reader = reader->outer_) {
    reader->ok_ = false;
    reader->left_ = 0;
  }
}

bool ProtoReader::Begin(Type type) {
  if (!std::exchange(unread_, false) || type_ != type) Fail();
  return ok_;
}

uint64_t ProtoReader::Varint(int longest) {
  uint64_t value = 0;
  for (int i = 0; i < longest && left_ > 0; ++i) {
    const auto byte = static_cast<uint8_t>(Take(1).front());
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return value;
  }
  Fail();
  return 0;
}

uint64_t ProtoReader::Length() {
  const uint64_t length = Varint(kMaxSmallVarint);
  if (length > left_) Fail();
  return ok_ ? length : 0;
}

void ProtoReader::Skip(uint64_t bytes) {
  if (bytes > left_) Fail();
  while (ok_ && bytes > 0) bytes -= Take(bytes).size();
}

void ProtoReader::SkipField() {
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
      Fail();
  }
}

std::string_view ProtoReader::Take(uint64_t most) {
  while (piece_.empty()) {
    piece_ = pieces_.front();
    pieces_ = pieces_.subspan(1);
  }
  const std::string_view taken = piece_.substr(0, std::min(most, left_));
  piece_.remove_prefix(taken.size());
  left_ -= taken.size();
  return taken;
}

ProtoWriter& ProtoWriter::Number(uint32_t field, uint64_t value) {
  return value == 0 ? *this : Varint(field << 3).Varint(value);
}

ProtoWriter& ProtoWriter::Bytes(uint32_t field, std::string_view value) {
  return value.empty() ? *this : Message(field, value);
}

ProtoWriter& ProtoWriter::Message(uint32_t field, std::string_view message) {
  return Head(field, message.size()).Fields(message);
}

ProtoWriter& ProtoWriter::Head(uint32_t field, uint64_t length) {
  return Varint(field << 3 | 2).Varint(length);
}

ProtoWriter& ProtoWriter::Fields(std::string_view fields) {
  bytes_.append(fields);
  return *this;
}

ProtoWriter& ProtoWriter::Varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
  bytes_.push_back(static_cast<char>(value));
  return *this;
}

}  // namespace cccl_cache
