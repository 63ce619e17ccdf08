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

/// Ed25519 signatures (RFC 8032), and the format of the files that hold keys.
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

/// Returns whether this is a signature of exactly this message by the secret key that belongs to
/// `key`.
[[nodiscard]] bool Verify(const PublicKey& key, std::string_view message,
                          const Signature& signature);

/// The secret half of a key. The destructor overwrites its memory. Immutable and thread-safe.
class SigningKey {
 public:
  using Seed = std::array<uint8_t, 32>;

  /// Makes a new key from the kernel's random numbers. Right after the machine's boot, this may
  /// wait until the kernel has some. On failure, returns the reason.
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

// The files with keys are text. Empty lines and lines that begin with '#' are ignored.
//
//   secret key  = one line "ed25519-secret SEED"    SEED: 64 hexadecimal digits
//   public keys = lines "ed25519 KEY COMMENT"       KEY: 64 hexadecimal digits; COMMENT: any text

inline constexpr size_t kMaxKeyFileBytes = 1u << 20;
inline constexpr size_t kMaxListedKeys = 4'096;

/// A line of a file of public keys.
struct ListedKey {
  PublicKey key;
  std::string comment;  ///< untrusted text; empty: none
  size_t line = 0;      ///< line number in the file; the first line has number 1
};

/// Returns the public keys in the text of a file, in their order. A key may occur several times. An
/// error begins with the file's name `file` and the line's number, and says what is expected there.
/// It quotes nothing of the text. Texts above kMaxKeyFileBytes or kMaxListedKeys are an error.
[[nodiscard]] std::variant<std::vector<ListedKey>, std::string> ParsePublicKeys(
    std::string_view text, const std::string& file);
/// Returns the secret key in the text of a file, or an error like that of ParsePublicKeys().
[[nodiscard]] std::variant<SigningKey, std::string> ParseSigningKey(std::string_view text,
                                                                    const std::string& file);

/// Returns the line of a file of public keys for this key, newline included. Control characters in
/// the comment become '?'.
[[nodiscard]] std::string PublicKeyLine(const PublicKey& key, std::string_view comment);
/// Returns the contents of a file for this secret key.
[[nodiscard]] std::string SigningKeyText(const SigningKey& key);

}  // namespace cccl_cache
