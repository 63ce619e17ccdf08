// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Ed25519 (RFC 8032), and the files with keys.
namespace cccl_cache {

/// A public key. A value type, ordered by its bytes.
struct PublicKey {
  std::array<uint8_t, 32> bytes{};

  auto operator<=>(const PublicKey&) const = default;

  /// Returns 64 lower-case hexadecimal digits.
  [[nodiscard]] std::string Hex() const;
  /// Returns the 32 raw bytes as a view; valid as long as the key.
  [[nodiscard]] std::string_view View() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Returns none unless `hex` has exactly 64 hexadecimal digits.
  static std::optional<PublicKey> FromHex(std::string_view hex);
};

struct Signature {
  std::array<uint8_t, 64> bytes{};

  auto operator<=>(const Signature&) const = default;

  [[nodiscard]] std::string_view View() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

/// Returns whether the owner of the key signed exactly this message.
[[nodiscard]] bool Verify(const PublicKey& key, std::string_view message,
                          const Signature& signature);

/// The secret half of a key. The destructor overwrites its memory. Immutable and thread-safe.
class SigningKey {
 public:
  using Seed = std::array<uint8_t, 32>;

  /// Makes a new key from the kernel's random numbers; may wait for them right after a boot. The
  /// text is the reason of a failure.
  static std::variant<SigningKey, std::string> Generate();
  explicit SigningKey(const Seed& seed);
  SigningKey(SigningKey&&) = default;
  SigningKey& operator=(SigningKey&&) = default;
  SigningKey(const SigningKey&) = delete;
  SigningKey& operator=(const SigningKey&) = delete;
  ~SigningKey();

  [[nodiscard]] const PublicKey& public_key() const { return public_key_; }
  [[nodiscard]] const Seed& seed() const { return seed_; }
  [[nodiscard]] Signature Sign(std::string_view message) const;

 private:
  Seed seed_;
  PublicKey public_key_;
};

// Key files are text. Empty lines and lines that begin with '#' are ignored.
//
//   secret key  = one line "ed25519-secret SEED"       SEED: 64 hexadecimal digits
//   public keys = lines "ed25519 KEY COMMENT"          KEY: 64 hexadecimal digits; COMMENT: any
//   text

inline constexpr size_t kMaxKeyFileBytes = 1u << 20;
inline constexpr size_t kMaxListedKeys = 4'096;

/// A line of a file of public keys.
struct ListedKey {
  PublicKey key;
  std::string comment;  ///< untrusted text; empty: none
  size_t line = 0;      ///< from 1 on
};

/// Returns the keys in order; a key may occur several times. Errors begin with `file`, name the
/// wrong line and the right form, and quote nothing of the file. Limits: kMaxKeyFileBytes and
/// kMaxListedKeys.
[[nodiscard]] std::variant<std::vector<ListedKey>, std::string> ParsePublicKeys(
    std::string_view text, const std::string& file);
/// Like ParsePublicKeys, for a file with one secret key.
[[nodiscard]] std::variant<SigningKey, std::string> ParseSigningKey(std::string_view text,
                                                                    const std::string& file);

/// Returns a line with its newline. Control characters of the comment become '?'.
[[nodiscard]] std::string PublicKeyLine(const PublicKey& key, std::string_view comment);
/// Returns the contents of a secret key's file.
[[nodiscard]] std::string SigningKeyText(const SigningKey& key);

}  // namespace cccl_cache
