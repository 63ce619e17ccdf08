// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cccl_cache {

/// One field of a protobuf message as it lies on the wire.
struct WireField {
  uint32_t number = 0;
  bool is_bytes = false;   ///< length-delimited
  uint64_t value = 0;      ///< of a varint
  std::string_view bytes;  ///< of a length-delimited field
  std::string_view whole;  ///< with its tag
};

/// Walks the fields of a protobuf message in place, where unpacking would copy what is large. Every
/// length is checked; groups are not understood. Not thread-safe.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  /// False: at the end, or the message is malformed.
  bool Next(WireField* field);
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  bool ReadVarint(uint64_t* value);
  bool ReadValue(uint32_t type, WireField* field);
  bool Skip(size_t bytes);

  std::string_view rest_;
  bool malformed_ = false;
};

/// Appends a varint, the counterpart of ReadVarint.
void AppendVarint(uint64_t value, std::string* output);

}  // namespace cccl_cache
