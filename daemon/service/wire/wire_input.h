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
///     if (field == kName) name = input.Text();  // an unread field is skipped
///   }
///   if (!input.well_formed()) ...
///
/// The bytes are hostile: no length is believed beyond the message that it is in, and what is read
/// takes no more memory than it took on the wire. After the first error nothing is read
/// any more: Next returns 0, and values are 0 and empty. A field of another type than the one that
/// is asked for is wrong, and so is a group. Not thread-safe; the pieces must outlive it.
class WireInput {
 public:
  explicit WireInput(std::span<const std::string_view> pieces);

  /// Returns the number of the next field of the current message, or 0 if there is none.
  [[nodiscard]] uint32_t Next();
  [[nodiscard]] bool well_formed() const { return well_formed_; }

  /// These return the value of the current field. At most one may be called, once.
  [[nodiscard]] uint64_t Number();
  [[nodiscard]] std::string Bytes();
  /// Returns bytes that must be UTF-8.
  [[nodiscard]] std::string Text();

  /// While it exists, the current message is the one in the current field. The destructor skips the
  /// part that was not read.
  class Nested {
   public:
    explicit Nested(WireInput& input);
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    ~Nested();

    /// Returns whether the message has more bytes, for numbers that are packed without fields.
    [[nodiscard]] bool more() const { return input_.well_formed_ && input_.left_ > 0; }

   private:
    WireInput& input_;
    uint64_t after_ = 0;  ///< bytes of the outer message that follow
  };

  /// Returns whether the current field holds bytes, which may be packed numbers.
  [[nodiscard]] bool is_bytes() const { return type_ == kLengthDelimited; }
  [[nodiscard]] uint64_t NextOfNumbers() { return Varint(kMaxVarint); }

 private:
  enum Type : uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

  static constexpr int kMaxVarint = 10;
  static constexpr int kMaxSmallVarint = 5;

  /// Marks the current field as read. If it has another type, the message is not well formed, and
  /// this returns false.
  bool Begin(Type type);
  uint64_t Varint(int longest);
  uint64_t Length();
  void Skip(uint64_t bytes);
  void SkipField();
  /// Returns the longest piece, up to `most` bytes, that lies in the current message and the
  /// current piece.
  std::string_view Take(uint64_t most);

  std::span<const std::string_view> pieces_;  ///< those after the current one
  std::string_view piece_;                    ///< the rest of the current one
  uint64_t left_ = 0;                         ///< bytes left of the current message
  uint8_t type_ = 0;                          ///< of the current field
  bool unread_ = false;
  bool well_formed_ = true;
};

}  // namespace cccl_cache::daemon
