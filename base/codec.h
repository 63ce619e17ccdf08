// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// The codec of stored formats and of the messages between daemon and worker. Integers are little
/// endian; nothing is padded or aligned.
///   flag, enumerator = u8
///   count            = u32
///   text             = u64 length, length bytes
///   C text           = text NUL       the length does not count the NUL
namespace cccl_cache {

/// Decodes values from the front of untrusted bytes. If a value is truncated or out of range, the
/// reader records an error, and all later values are zero or empty. Returned views point into the
/// bytes, which must outlive them. Not thread-safe.
class ByteReader {
 public:
  static constexpr size_t kEmptyText = 8;   ///< encoded size of an empty text
  static constexpr size_t kEmptyCText = 9;  ///< encoded size of an empty C text

  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <std::integral Integer>
  Integer Take() {
    uint64_t value = 0;
    const std::string_view raw = Bytes(sizeof(Integer));
    for (size_t i = 0; i < raw.size(); ++i) {
      value |= uint64_t{static_cast<uint8_t>(raw[i])} << (8 * i);
    }
    return static_cast<Integer>(value);
  }

  /// Takes an enumerator from `first` to `last`. Returns `first` after an error.
  template <typename Enum>
  Enum TakeEnum(Enum first, Enum last) {
    const auto value = Take<uint8_t>();
    if (value < static_cast<uint8_t>(first) || value > static_cast<uint8_t>(last)) Fail();
    return ok_ ? static_cast<Enum>(value) : first;
  }

  /// Takes a flag, which is 0 or 1.
  bool Flag() {
    const auto value = Take<uint8_t>();
    if (value > 1) Fail();
    return ok_ && value == 1;
  }

  /// Takes a u64 below 2^63.
  int64_t NonNegative() {
    const auto value = Take<int64_t>();
    if (value < 0) Fail();
    return ok_ ? value : 0;
  }

  /// Takes `length` bytes without decoding.
  std::string_view Bytes(uint64_t length) {
    if (length > rest_.size()) Fail();
    const std::string_view taken = rest_.substr(0, ok_ ? length : 0);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  /// Takes the bytes of a SHA-256.
  std::array<uint8_t, 32> Sha256() {
    std::array<uint8_t, 32> digest{};
    std::ranges::copy(Bytes(digest.size()), digest.begin());
    return digest;
  }

  std::string_view Text() { return Bytes(Take<uint64_t>()); }

  /// Takes a text that is followed by a NUL, so that the view's data() is a C string. After an
  /// error, returns an empty C string.
  std::string_view CText() {
    const std::string_view text = Text();
    if (Bytes(1) != std::string_view("\0", 1)) Fail();
    return ok_ ? text : std::string_view("");
  }

  /// Takes the number of entries that follow, each encoded in at least `entry_bytes` bytes. Fails
  /// if the remaining bytes can't hold so many entries, so that the caller may reserve memory for
  /// them.
  size_t Count(size_t entry_bytes) {
    const size_t count = Take<uint32_t>();
    if (count > rest_.size() / entry_bytes) Fail();
    return ok_ ? count : 0;
  }

  /// Records an error: the caller found a value out of range.
  void Fail() {
    ok_ = false;
    rest_ = {};
  }
  [[nodiscard]] bool ok() const { return ok_; }
  /// Returns the bytes that were not taken yet; empty after an error.
  [[nodiscard]] std::string_view rest() const { return rest_; }
  /// Returns whether there was no error and nothing is left.
  [[nodiscard]] bool complete() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// Encodes values one after the other. A long text is not copied but referenced: its bytes must
/// stay unchanged as long as the writer is used. Not thread-safe.
class ByteWriter {
 public:
  /// Appends an integer, or a flag or enumerator as one byte.
  template <typename Value>
  ByteWriter& Put(Value value) {
    static_assert(std::is_integral_v<Value> || sizeof(Value) == 1);
    char encoded[sizeof(Value)];
    for (size_t i = 0; i < sizeof(Value); ++i) {
      encoded[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    }
    return Bytes({encoded, sizeof(Value)});
  }
  ByteWriter& Count(size_t count) { return Put(static_cast<uint32_t>(count)); }
  /// Appends a copy of the bytes without encoding.
  ByteWriter& Bytes(std::string_view bytes);
  ByteWriter& Text(std::string_view text);
  ByteWriter& CText(std::string_view text) { return Text(text).Put('\0'); }
  /// A long text is referenced, so a temporary one would be destroyed before its bytes are used.
  template <std::same_as<std::string> Temporary>
  ByteWriter& Text(Temporary&& text) = delete;
  template <std::same_as<std::string> Temporary>
  ByteWriter& CText(Temporary&& text) = delete;

  /// Returns the size in bytes of all appended values.
  [[nodiscard]] size_t size() const { return size_; }
  /// Returns all bytes as one string, with capacity for `more` further bytes.
  [[nodiscard]] std::string Joined(size_t more = 0) const;
  /// Writes all bytes to a blocking descriptor. If it is a socket, the process must ignore SIGPIPE.
  /// Returns 0 or an errno value.
  [[nodiscard]] int WriteTo(int fd) const;

 private:
  /// A run of bytes. If `external` is null, the bytes are in own_ at `offset`.
  struct Piece {
    const char* external = nullptr;
    size_t offset = 0;
    size_t size = 0;
  };

  [[nodiscard]] std::string_view View(const Piece& piece) const;

  std::string own_;
  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace cccl_cache
