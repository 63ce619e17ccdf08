// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace cccl_cache::daemon {

/// Decodes a message of the daemon-worker format (see WireWriter), and trusts no byte of it. After
/// anything malformed or truncated every getter returns zero or empty, and Complete() stays false.
/// Views point into the message, which must outlive them. Not thread-safe.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  uint8_t U8() { return static_cast<uint8_t>(Scalar(1)); }
  uint32_t U32() { return static_cast<uint32_t>(Scalar(4)); }
  uint64_t U64() { return Scalar(8); }
  /// Reads a flag: 0 or 1, anything else is malformed.
  bool Flag();
  /// Reads a text. It is a C string: a NUL follows its last byte.
  std::string_view Text();
  /// Reads the number of entries that follow, each at least `entry_bytes` long. It is bounded by
  /// the bytes left, so it is safe to reserve memory for that many entries.
  size_t Count(size_t entry_bytes);

  /// Marks the message as malformed: the caller found a value out of range.
  void Fail();
  [[nodiscard]] bool failed() const { return failed_; }
  /// Returns whether the whole message was well formed and has been read to its end.
  [[nodiscard]] bool Complete() const { return !failed_ && rest_.empty(); }

 private:
  uint64_t Scalar(size_t bytes);

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace cccl_cache::daemon
