// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "proto/digest.h"

namespace cccl_cache {

/// The first digits of a digest, as a person types them. A whole digest is one too. A value type.
struct DigestPrefix {
  static constexpr size_t kMinDigits = 8;
  static constexpr size_t kAllDigits = 64;

  DigestPrefix(const Digest& digest) : hex(digest.Hex()) {}  // NOLINT: implicit

  /// None unless `text` is kMinDigits to kAllDigits hexadecimal digits.
  static std::optional<DigestPrefix> FromHex(std::string_view text) {
    if (text.size() < kMinDigits || text.size() > kAllDigits) return std::nullopt;
    std::string padded(text);
    padded.resize(kAllDigits, '0');
    const auto digest = Digest::FromHex(padded);
    if (!digest) return std::nullopt;
    DigestPrefix prefix(*digest);
    prefix.hex.resize(text.size());
    return prefix;
  }

  /// Returns the lowest digest that begins so.
  [[nodiscard]] Digest First() const {
    std::string padded = hex;
    padded.resize(kAllDigits, '0');
    return *Digest::FromHex(padded);
  }
  [[nodiscard]] bool Matches(const Digest& digest) const { return digest.Hex().starts_with(hex); }

  std::string hex;  ///< lower-case
};

}  // namespace cccl_cache
