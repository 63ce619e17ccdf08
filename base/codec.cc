// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/codec.h"

#include <limits.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace cccl_cache {
namespace {

/// Texts below this size in bytes are copied, because a separate piece costs more than the copy.
constexpr size_t kCopyBelow = 4096;

}  // namespace

ByteWriter& ByteWriter::Bytes(std::string_view bytes) {
  if (pieces_.empty() || pieces_.back().external != nullptr) {
    pieces_.push_back({.offset = own_.size()});
  }
  own_.append(bytes);
  pieces_.back().size += bytes.size();
  size_ += bytes.size();
  return *this;
}

ByteWriter& ByteWriter::Text(std::string_view text) {
  Put<uint64_t>(text.size());
  if (text.size() < kCopyBelow) return Bytes(text);
  pieces_.push_back({.external = text.data(), .size = text.size()});
  size_ += text.size();
  return *this;
}

std::string_view ByteWriter::View(const Piece& piece) const {
  return {piece.external != nullptr ? piece.external : own_.data() + piece.offset, piece.size};
}

std::string ByteWriter::Joined(size_t more) const {
  std::string joined;
  joined.reserve(size_ + more);
  for (const Piece& piece : pieces_) joined.append(View(piece));
  return joined;
}

int ByteWriter::WriteTo(int fd) const {
  std::vector<iovec> pending;
  pending.reserve(pieces_.size());
  for (const Piece& piece : pieces_) {
    const std::string_view view = View(piece);
    pending.push_back({const_cast<char*>(view.data()), view.size()});
  }
  size_t next = 0;
  while (next < pending.size()) {
    const size_t count = std::min<size_t>(pending.size() - next, IOV_MAX);
    const ssize_t written = writev(fd, pending.data() + next, static_cast<int>(count));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    size_t left = static_cast<size_t>(written);
    while (next < pending.size() && left >= pending[next].iov_len) left -= pending[next++].iov_len;
    if (left > 0) {
      pending[next].iov_base = static_cast<char*>(pending[next].iov_base) + left;
      pending[next].iov_len -= left;
    }
  }
  return 0;
}

}  // namespace cccl_cache
