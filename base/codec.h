// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cccl_cache {

// The values that stored formats are made of. Integers are little endian; nothing is padded.

template <typename Integer>
void AppendInteger(std::string& out, Integer value) {
  for (size_t i = 0; i < sizeof(value); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

inline void AppendString(std::string& out, std::string_view value) {
  AppendInteger<uint64_t>(out, value.size());
  out.append(value);
}

/// Takes values off the front of some bytes, never past their end. Not thread-safe.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <typename Integer>
  std::optional<Integer> TakeInteger() {
    const auto raw = Take(sizeof(Integer));
    if (!raw) return std::nullopt;
    Integer value = 0;
    for (size_t i = 0; i < raw->size(); ++i) {
      value |=
          static_cast<Integer>(static_cast<Integer>(static_cast<uint8_t>((*raw)[i])) << (8 * i));
    }
    return value;
  }

  std::optional<std::string_view> TakeString() {
    const auto length = TakeInteger<uint64_t>();
    return length ? Take(*length) : std::nullopt;
  }

  /// Returns a count of items of at least `minimum` bytes each. None if the remaining bytes can't
  /// hold them, so that it is safe to reserve memory for them.
  std::optional<uint32_t> TakeCount(size_t minimum) {
    const auto count = TakeInteger<uint32_t>();
    if (!count || *count > rest_.size() / minimum) return std::nullopt;
    return count;
  }

  std::optional<std::string_view> Take(uint64_t length) {
    if (length > rest_.size()) return std::nullopt;
    const std::string_view taken = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return taken;
  }

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace cccl_cache
