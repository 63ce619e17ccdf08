// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// An uploaded HeaderSet. An accepted one lies within the message, and reads the same after it was
// encoded again.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/header_set.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::EncodedHeaderSet;
using cccl_cache::HeaderText;

constexpr size_t kMost = 8;

std::string Encoded(const std::vector<HeaderText>& headers) {
  std::string bytes;
  EncodedHeaderSet(headers).ForEachPiece(
      [&](std::string_view piece, bool) { bytes.append(piece); });
  return bytes;
}

bool LiesIn(std::string_view text, std::string_view message) {
  return text.empty() || (text.data() >= message.data() &&
                          text.data() + text.size() <= message.data() + message.size());
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  return {"", Encoded({{"a.h", "int a;"}}), Encoded({{"b.h", ""}, {"a.h", "int a;"}, {"", "x"}})};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  const auto headers = cccl_cache::ReadHeaderSet(message, kMost);
  if (!headers) return 0;
  assert(headers->size() <= kMost + 1);
  for (const HeaderText& header : *headers) {
    assert(LiesIn(header.name, message) && LiesIn(header.contents, message));
  }
  const std::string encoded = Encoded(*headers);
  const auto again = cccl_cache::ReadHeaderSet(encoded, kMost);
  assert(again && again->size() == headers->size() && Encoded(*again) == encoded);
  return 0;
}
