// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// Builds a message of the daemon-worker format: little-endian integers of fixed width, and texts
/// as
///   text = length:u64 bytes NUL
/// (the NUL is not counted: a decoded text is a C string where it lies). Long texts are not copied:
/// the writer refers to them, so they must stay unchanged until the message has been written. Not
/// thread-safe.
class WireWriter {
 public:
  void U8(uint8_t value) { Scalar(value, 1); }
  void U32(uint32_t value) { Scalar(value, 4); }
  void U64(uint64_t value) { Scalar(value, 8); }
  void Text(std::string_view text);
  /// Adds bytes as they are, without a length.
  void Raw(std::string_view bytes) { Copy(bytes); }

  /// Returns the size of the whole message in bytes.
  [[nodiscard]] size_t size() const { return size_; }
  /// Returns the whole message as one string.
  [[nodiscard]] std::string Joined() const;
  /// Writes the whole message to a blocking descriptor. If that is a socket, the process must
  /// ignore SIGPIPE.
  [[nodiscard]] Status WriteTo(int fd) const;

 private:
  /// A run of bytes of the message. They are in own_ at `offset` if `external` is null.
  struct Piece {
    const char* external = nullptr;
    size_t offset = 0;
    size_t size = 0;
  };

  void Scalar(uint64_t value, int bytes);
  void Copy(std::string_view bytes);
  [[nodiscard]] std::string_view View(const Piece& piece) const;

  std::string own_;
  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace cccl_cache::daemon
