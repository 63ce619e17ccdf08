// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire.h"
#include "proto/digest.h"

namespace cccl_cache {

/// The inline headers of a program are a header set if their contents have at least this many bytes
/// together. A client sends a set once and then names it by its digest. The digest also represents
/// the set in fingerprints, so the value must not change.
inline constexpr size_t kHeaderSetBytes = size_t{1} << 20;

/// One header. The views point to memory of another object.
struct HeaderText {
  std::string_view name;
  std::string_view contents;
};

/// The message HeaderSet (build.proto) of some headers. They are sorted by name, and headers of one
/// name keep their order, so the order in which a program lists them does not matter. The headers'
/// memory is referenced. Immutable.
class EncodedHeaderSet {
 public:
  explicit EncodedHeaderSet(std::vector<HeaderText> headers);

  /// Calls `piece` with each part of the message, in order. `copied` says whether the part is valid
  /// only during the call.
  template <typename Piece>
  void ForEachPiece(const Piece& piece) const {
    for (const HeaderText& header : headers_) {
      piece(HeadOf(header), true);
      piece(header.contents, false);
    }
  }
  /// Returns the SHA-256 of the message.
  [[nodiscard]] Digest Sha256() const;

 private:
  [[nodiscard]] static std::string HeadOf(const HeaderText& header);

  std::vector<HeaderText> headers_;
};

/// A header set that a client has named. A value type.
struct HeaderSet {
  Digest digest;
  /// The encoded message; null if only the digest is known.
  std::shared_ptr<const std::string> bytes;
  std::vector<HeaderText> headers;  ///< point into `bytes`

  [[nodiscard]] bool has_contents() const { return bytes != nullptr; }
};

/// Returns the headers in an encoded message HeaderSet, in its order. They point into `message`.
/// None: the bytes are no such message, or a header refers to an upload. Reading ends after the
/// first header beyond `most`. Names and contents are not checked.
[[nodiscard]] std::optional<std::vector<HeaderText>> ReadHeaderSet(std::string_view message,
                                                                   size_t most);

}  // namespace cccl_cache
