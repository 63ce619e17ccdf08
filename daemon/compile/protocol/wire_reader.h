// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace cccl_cache::daemon {

/// Takes a message of the daemon-worker format apart (see WireWriter). Trusts no byte of it: after
/// anything malformed or truncated every getter answers zero or empty, and Complete() is false for
/// good. Views point into the message, which must outlive them. Not thread-safe.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  uint8_t U8() { return static_cast<uint8_t>(Scalar(1)); }
  uint32_t U32() { return static_cast<uint32_t>(Scalar(4)); }
  uint64_t U64() { return Scalar(8); }
  /// A flag: 0 or 1, anything else is malformed.
  bool Flag();
  /// A C string: a NUL follows its last byte.
  std::string_view Text();
  /// A number of entries that follow, each at least `entry_bytes` long: bounded by what is left, so
  /// that it is safe to reserve room for them.
  size_t Count(size_t entry_bytes);

  /// For a value that its reader finds to be out of range.
  void Fail();
  [[nodiscard]] bool failed() const { return failed_; }
  /// Whether the whole message was well formed and nothing is left of it.
  [[nodiscard]] bool Complete() const { return !failed_ && rest_.empty(); }

 private:
  uint64_t Scalar(size_t bytes);

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace cccl_cache::daemon
