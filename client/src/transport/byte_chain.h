// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache {

/// Bytes to send, in pieces. Small pieces are copied, and large pieces are referenced, so that a
/// blob goes from the program's memory to the socket without a copy. Referenced memory must outlive
/// the chain. Not thread-safe.
class ByteChain {
 public:
  /// A place in the chain. Valid until the next Copy, Refer or Clear before it.
  struct Position {
    size_t piece = 0;
    size_t offset = 0;
  };

  void Copy(std::string_view bytes);
  void Refer(std::string_view bytes);
  /// Refers to the bytes between two places of another chain.
  void ReferTo(const ByteChain& other, Position from, size_t bytes);
  void Clear();

  [[nodiscard]] size_t size() const { return size_; }
  /// Returns the place `bytes` further on, or the end of the chain.
  [[nodiscard]] Position Advance(Position from, size_t bytes) const;
  /// Describes the bytes after `from` for sendmsg; returns the number of entries filled in `out`.
  [[nodiscard]] size_t Describe(Position from, std::span<iovec> out) const;

 private:
  struct Piece {
    const char* reference;  ///< null: at `start` in copied_
    size_t start;
    size_t size;
  };

  [[nodiscard]] std::string_view View(const Piece& piece) const;

  std::string copied_;
  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace cccl_cache
