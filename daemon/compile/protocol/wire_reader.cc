// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/protocol/wire_reader.h"

namespace cccl_cache::daemon {

void WireReader::Fail() {
  failed_ = true;
  rest_ = {};
}

uint64_t WireReader::Scalar(size_t bytes) {
  if (rest_.size() < bytes) {
    Fail();
    return 0;
  }
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<uint8_t>(rest_[i])) << (8 * i);
  }
  rest_.remove_prefix(bytes);
  return value;
}

bool WireReader::Flag() {
  const uint8_t value = U8();
  if (value > 1) Fail();
  return value == 1;
}

std::string_view WireReader::Text() {
  const uint64_t length = U64();
  if (length >= rest_.size() || rest_[length] != '\0') {
    Fail();
    return {"", 0};
  }
  const std::string_view text = rest_.substr(0, length);
  rest_.remove_prefix(length + 1);
  return text;
}

size_t WireReader::Count(size_t entry_bytes) {
  const uint64_t count = U32();
  if (count > rest_.size() / entry_bytes) {
    Fail();
    return 0;
  }
  return count;
}

}  // namespace cccl_cache::daemon
