// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cccl_cache::daemon {

/// Reads a protobuf message where it lies, in any number of pieces, one field at a time:
///
///   while (const uint32_t field = input.Next()) {
///     if (field == kName) name = input.Text();  // a field that nobody reads is skipped
///   }
///   if (!input.well_formed()) ...
///
/// The bytes are hostile: no length is believed beyond the message that it is in, and what is read
/// takes no more memory than it took on the wire. Once something is wrong, nothing is read any
/// more: Next says 0, and values are 0 and empty. A field of another type than the one that is
/// asked for is wrong, and so is a group. Not thread-safe; the pieces must outlive it.
class WireInput {
 public:
  explicit WireInput(std::span<const std::string_view> pieces);

  /// The number of the next field of the message at hand; 0: there is none.
  [[nodiscard]] uint32_t Next();
  [[nodiscard]] bool well_formed() const { return well_formed_; }

  /// The value of the field at hand, once.
  [[nodiscard]] uint64_t Number();
  [[nodiscard]] std::string Bytes();
  /// Bytes that have to be UTF-8.
  [[nodiscard]] std::string Text();

  /// While it lives, the message at hand is the one that the field at hand holds. What was not
  /// read of that is skipped at the end.
  class Nested {
   public:
    explicit Nested(WireInput& input);
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    ~Nested();

    /// More bytes of it are to be read: for numbers that lie in it without fields.
    [[nodiscard]] bool more() const { return input_.well_formed_ && input_.left_ > 0; }

   private:
    WireInput& input_;
    uint64_t after_ = 0;  ///< bytes of the outer message
  };

  /// The field at hand holds bytes, and so may be numbers one after the other.
  [[nodiscard]] bool is_bytes() const { return type_ == kLengthDelimited; }
  [[nodiscard]] uint64_t NextOfNumbers() { return Varint(kMaxVarint); }

 private:
  enum Type : uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

  static constexpr int kMaxVarint = 10;
  static constexpr int kMaxSmallVarint = 5;

  /// Whether the field at hand is of this type, and is read from now on.
  bool Begin(Type type);
  uint64_t Varint(int longest);
  uint64_t Length();
  void Skip(uint64_t bytes);
  void SkipField();
  /// As many bytes as the message at hand and the current piece have in one, up to `most`.
  std::string_view Take(uint64_t most);

  std::span<const std::string_view> pieces_;  ///< those that come after the one at hand
  std::string_view piece_;                    ///< what is left of that
  uint64_t left_ = 0;                         ///< bytes of the message at hand
  uint8_t type_ = 0;                          ///< of the field at hand
  bool unread_ = false;
  bool well_formed_ = true;
};

}  // namespace cccl_cache::daemon
