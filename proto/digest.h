// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nettle/sha2.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cccl_cache {

/// A SHA-256 digest. A value type.
struct Digest {
  std::array<uint8_t, 32> bytes{};

  auto operator<=>(const Digest&) const = default;

  /// Returns 64 lower-case hexadecimal digits.
  [[nodiscard]] std::string Hex() const;
  /// Returns the 32 raw bytes as a view; valid as long as the digest.
  [[nodiscard]] std::string_view View() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Returns none unless `raw` has exactly 32 bytes.
  static std::optional<Digest> FromBytes(std::string_view raw);
  /// Returns none unless `hex` has exactly 64 hexadecimal digits.
  static std::optional<Digest> FromHex(std::string_view hex);
};

/// For std::unordered_map. Digests are spread evenly, so the first bytes are a good hash.
struct DigestHash {
  size_t operator()(const Digest& digest) const {
    size_t value;
    std::memcpy(&value, digest.bytes.data(), sizeof(value));
    return value;
  }
};

/// Incremental SHA-256 of values. Each value is preceded by its tag and its length, so different
/// sequences of values never hash the same bytes. Not thread-safe.
class Hasher {
 public:
  Hasher() { sha256_init(&context_); }

  /// Appends bytes without tag and length, for the digest of a single file or blob.
  void Append(std::string_view bytes);
  /// Appends a value: tag length (1 byte), tag, value length (8 bytes, little endian), value.
  void AppendValue(std::string_view tag, std::string_view value);
  void AppendValue(std::string_view tag, uint64_t value);

  /// Returns the digest and resets the object.
  [[nodiscard]] Digest Finish();

 private:
  sha256_ctx context_;
};

[[nodiscard]] Digest Sha256(std::string_view bytes);

/// The first hexadecimal digits of a digest, as users type them; at most the whole digest. A value
/// type.
struct DigestPrefix {
  static constexpr size_t kMinDigits = 8;
  static constexpr size_t kAllDigits = 64;

  DigestPrefix(const Digest& digest) : hex(digest.Hex()) {}  // NOLINT: implicit

  /// Returns none unless `text` has kMinDigits to kAllDigits hexadecimal digits.
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

  /// Returns the lowest digest with this prefix.
  [[nodiscard]] Digest First() const {
    std::string padded = hex;
    padded.resize(kAllDigits, '0');
    return *Digest::FromHex(padded);
  }
  [[nodiscard]] bool Matches(const Digest& digest) const {
    for (size_t i = 0; i < hex.size(); ++i) {
      const unsigned digit = i % 2 == 0 ? digest.bytes[i / 2] >> 4 : digest.bytes[i / 2] & 15;
      if (hex[i] != "0123456789abcdef"[digit]) return false;
    }
    return true;
  }

  std::string hex;  ///< lower-case
};

}  // namespace cccl_cache
