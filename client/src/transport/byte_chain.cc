// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/byte_chain.h"

#include <algorithm>

namespace cccl_cache {

void ByteChain::Copy(std::string_view bytes) {
  if (bytes.empty()) return;
  if (!pieces_.empty() && pieces_.back().reference == nullptr) {
    pieces_.back().size += bytes.size();
  } else {
    pieces_.push_back({nullptr, copied_.size(), bytes.size()});
  }
  copied_.append(bytes);
  size_ += bytes.size();
}

void ByteChain::Refer(std::string_view bytes) {
  if (bytes.empty()) return;
  pieces_.push_back({bytes.data(), 0, bytes.size()});
  size_ += bytes.size();
}

void ByteChain::ReferTo(const ByteChain& other, Position from, size_t bytes) {
  while (bytes > 0 && from.piece < other.pieces_.size()) {
    const std::string_view piece = other.View(other.pieces_[from.piece]).substr(from.offset, bytes);
    Refer(piece);
    bytes -= piece.size();
    from = {from.piece + 1, 0};
  }
}

void ByteChain::Clear() {
  copied_.clear();
  pieces_.clear();
  size_ = 0;
}

ByteChain::Position ByteChain::Advance(Position from, size_t bytes) const {
  while (from.piece < pieces_.size()) {
    const size_t rest = pieces_[from.piece].size - from.offset;
    if (bytes < rest) return {from.piece, from.offset + bytes};
    bytes -= rest;
    from = {from.piece + 1, 0};
  }
  return from;
}

size_t ByteChain::Describe(Position from, std::span<iovec> out) const {
  size_t filled = 0;
  for (; filled < out.size() && from.piece < pieces_.size(); from = {from.piece + 1, 0}) {
    const std::string_view piece = View(pieces_[from.piece]).substr(from.offset);
    out[filled++] = {const_cast<char*>(piece.data()), piece.size()};
  }
  return filled;
}

std::string_view ByteChain::View(const Piece& piece) const {
  const char* start = piece.reference != nullptr ? piece.reference : copied_.data() + piece.start;
  return {start, piece.size};
}

}  // namespace cccl_cache
