// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/wire_reader.h"

namespace cccl_cache {
namespace {

constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kLengthDelimited = 2;
constexpr uint32_t kFixed32 = 5;

}  // namespace

bool WireReader::Next(WireField* field) {
  if (rest_.empty() || malformed_) return false;
  const std::string_view start = rest_;
  *field = {};
  uint64_t tag = 0;
  malformed_ =
      !ReadVarint(&tag) || tag >> 3 == 0 || tag >> 3 > (1u << 29) - 1 || !ReadValue(tag & 7, field);
  if (malformed_) return false;
  field->number = static_cast<uint32_t>(tag >> 3);
  field->whole = start.substr(0, start.size() - rest_.size());
  return true;
}

bool WireReader::ReadVarint(uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool WireReader::ReadValue(uint32_t type, WireField* field) {
  switch (type) {
    case kVarint:
      return ReadVarint(&field->value);
    case kFixed64:
      return Skip(8);
    case kFixed32:
      return Skip(4);
    case kLengthDelimited: {
      uint64_t size = 0;
      if (!ReadVarint(&size) || size > rest_.size()) return false;
      field->is_bytes = true;
      field->bytes = rest_.substr(0, size);
      return Skip(size);
    }
    default:
      return false;
  }
}

bool WireReader::Skip(size_t bytes) {
  if (bytes > rest_.size()) return false;
  rest_.remove_prefix(bytes);
  return true;
}

void AppendVarint(uint64_t value, std::string* output) {
  for (; value >= 0x80; value >>= 7) output->push_back(static_cast<char>(value | 0x80));
  output->push_back(static_cast<char>(value));
}

}  // namespace cccl_cache
