// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache {

/// A sequence of pieces of bytes to send. A piece is either a copy or a reference to memory of the
/// caller. References avoid a copy of large contents between the program's memory and the socket.
/// The referenced memory must outlive the chain. Not thread-safe.
class ByteChain {
 public:
  /// A position in the chain. It stays valid while bytes are only appended after it.
  struct Position {
    size_t piece = 0;
    size_t offset = 0;
  };

  void Copy(std::string_view bytes);
  void Refer(std::string_view bytes);
  /// Appends references to `bytes` bytes of another chain, which begin at `from`.
  void ReferTo(const ByteChain& other, Position from, size_t bytes);
  void Clear();

  [[nodiscard]] size_t size() const { return size_; }
  /// Returns the position `bytes` bytes after `from`, but at most the end of the chain.
  [[nodiscard]] Position Advance(Position from, size_t bytes) const;
  /// Fills `out` for sendmsg with the memory of the bytes after `from`, as far as it has room.
  /// Returns the number of filled entries.
  [[nodiscard]] size_t Describe(Position from, std::span<iovec> out) const;

 private:
  struct Piece {
    const char* reference;  ///< null: the bytes are in copied_, from `start` on
    size_t start;
    size_t size;
  };

  [[nodiscard]] std::string_view View(const Piece& piece) const;

  std::string copied_;
  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace cccl_cache
