// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cccl_cache {

/// Reads a protobuf message in place, in any number of pieces, one field at a time:
///
///   while (const uint32_t field = reader.Next()) {
///     if (field == kName) name = reader.Text();  // an unread field is skipped
///   }
///   if (!reader.ok()) ...
///
/// The bytes are untrusted. A length that exceeds the message is an error, and values take no more
/// memory than their encoding. Groups are an error, and so is a field whose type differs from that
/// of the called function. After the first error, Next() returns 0, and values are 0 or empty. Not
/// thread-safe. The bytes must outlive the reader.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : piece_(message), left_(message.size()) {}
  /// The array behind `pieces`, too, must outlive the reader.
  explicit ProtoReader(std::span<const std::string_view> pieces);

  /// Returns the number of the next field. Returns 0 at the end of the message or after an error.
  [[nodiscard]] uint32_t Next();
  [[nodiscard]] bool ok() const { return ok_; }

  /// These functions return the value of the current field. For each field, at most one of them may
  /// be called, and only once.
  [[nodiscard]] uint64_t Number();
  [[nodiscard]] double Real();
  [[nodiscard]] std::string Bytes();
  /// Returns a field of type string. A value that is not UTF-8 is an error.
  [[nodiscard]] std::string Text();
  /// Returns a view of the field's bytes. Only for a message that is in one piece.
  [[nodiscard]] std::string_view View();
  /// Returns a reader of the message in the field. An error in that reader is recorded in this
  /// reader too, so this reader must not be moved or destroyed while the other is in use.
  [[nodiscard]] ProtoReader Message();
  /// Returns the encoded field, tag included. Only for a message that is in one piece.
  [[nodiscard]] std::string_view Whole();

  /// Returns whether the current field has a length and bytes. If the field is a repeated number,
  /// these are packed numbers: Message() returns a reader for them, to be read by NextOfNumbers()
  /// as long as more() is true.
  [[nodiscard]] bool is_bytes() const { return type_ == kLengthDelimited; }
  [[nodiscard]] bool more() const { return left_ > 0; }
  [[nodiscard]] uint64_t NextOfNumbers() { return Varint(kMaxVarint); }

 private:
  enum Type : uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

  static constexpr int kMaxVarint = 10;
  static constexpr int kMaxSmallVarint = 5;

  void Fail();
  /// Marks the current field as read. If the field has another type, or was read before, records an
  /// error and returns false.
  bool Begin(Type type);
  uint64_t Varint(int longest);
  uint64_t Length();
  void Skip(uint64_t bytes);
  void SkipField();
  /// Removes and returns the next bytes of the current piece, at most `most`, and at most up to the
  /// end of the message.
  std::string_view Take(uint64_t most);

  std::span<const std::string_view> pieces_;  ///< the pieces after the current one
  std::string_view piece_;                    ///< the rest of the current piece
  uint64_t left_ = 0;                         ///< bytes left in the message
  const char* field_ = nullptr;               ///< start of the current field's tag; used by Whole()
  ProtoReader* outer_ = nullptr;              ///< the reader of the enclosing message
  uint8_t type_ = 0;                          ///< wire type of the current field
  bool unread_ = false;
  bool ok_ = true;
};

/// Writes the fields of a protobuf message as the generated code writes them. Not thread-safe.
class ProtoWriter {
 public:
  /// Reserves memory for a message of `usual_bytes` bytes. Larger messages are possible.
  explicit ProtoWriter(size_t usual_bytes = 0) { bytes_.reserve(usual_bytes); }

  /// Writes a number of type uint32, uint64, bool or enum. Writes nothing if the value is 0.
  ProtoWriter& Number(uint32_t field, uint64_t value);
  /// Writes a field of type bytes or string. Writes nothing if the value is empty.
  ProtoWriter& Bytes(uint32_t field, std::string_view value);
  /// Writes an encoded message as a field, even if it is empty.
  ProtoWriter& Message(uint32_t field, std::string_view message);
  /// Writes the tag and length of a field with a length. The caller must supply the `length` bytes
  /// next: with Fields(), or by sending them after these bytes.
  ProtoWriter& Head(uint32_t field, uint64_t length);
  /// Writes complete encoded fields.
  ProtoWriter& Fields(std::string_view fields);
  /// Writes a number without a tag, as in packed numbers.
  ProtoWriter& Varint(uint64_t value);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  /// Returns the written bytes and empties the writer.
  [[nodiscard]] std::string Take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

}  // namespace cccl_cache
