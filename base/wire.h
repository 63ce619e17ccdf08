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
/// The bytes are untrusted: no length counts beyond its message, and values take no more memory
/// than on the wire. After the first error Next returns 0, and values are 0 and empty. A group is
/// an error, and so is a field whose type differs from that of the called function. Not
/// thread-safe; the bytes must outlive the reader.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : piece_(message), left_(message.size()) {}
  /// The span of pieces must outlive the reader too.
  explicit ProtoReader(std::span<const std::string_view> pieces);

  /// Returns the number of the next field, or 0 if there is none.
  [[nodiscard]] uint32_t Next();
  [[nodiscard]] bool ok() const { return ok_; }

  /// Return the value of the current field. At most one of these functions may be called, once.
  [[nodiscard]] uint64_t Number();
  [[nodiscard]] double Real();
  [[nodiscard]] std::string Bytes();
  /// Returns bytes that must be UTF-8.
  [[nodiscard]] std::string Text();
  /// Returns bytes without a copy. The reader's message must be in one piece.
  [[nodiscard]] std::string_view View();
  /// Returns a reader of the message in the field. An error in that message is an error of this
  /// reader too, which must not move meanwhile.
  [[nodiscard]] ProtoReader Message();
  /// Returns the field with its tag, encoded. The reader's message must be in one piece.
  [[nodiscard]] std::string_view Whole();

  /// Returns whether the current field holds bytes. They may be packed numbers: then Message()
  /// returns a reader whose more() and NextOfNumbers() read them.
  [[nodiscard]] bool is_bytes() const { return type_ == kLengthDelimited; }
  [[nodiscard]] bool more() const { return left_ > 0; }
  [[nodiscard]] uint64_t NextOfNumbers() { return Varint(kMaxVarint); }

 private:
  enum Type : uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

  static constexpr int kMaxVarint = 10;
  static constexpr int kMaxSmallVarint = 5;

  void Fail();
  /// Marks the current field as read. Returns false, and records an error, if the field has another
  /// type.
  bool Begin(Type type);
  uint64_t Varint(int longest);
  uint64_t Length();
  void Skip(uint64_t bytes);
  void SkipField();
  /// Returns the longest run of bytes, up to `most`, in the message and the current piece.
  std::string_view Take(uint64_t most);

  std::span<const std::string_view> pieces_;  ///< the pieces after the current one
  std::string_view piece_;                    ///< the rest of the current piece
  uint64_t left_ = 0;                         ///< bytes left in the message
  const char* field_ = nullptr;               ///< the current field's tag, if it is in one piece
  ProtoReader* outer_ = nullptr;              ///< the reader of the enclosing message
  uint8_t type_ = 0;                          ///< of the current field
  bool unread_ = false;
  bool ok_ = true;
};

/// Writes the fields of a protobuf message as the generated code writes them. Not thread-safe.
class ProtoWriter {
 public:
  /// `usual_bytes` is the size to which the message can grow without a reallocation.
  explicit ProtoWriter(size_t usual_bytes = 0) { bytes_.reserve(usual_bytes); }

  /// Writes nothing if the value is 0.
  ProtoWriter& Number(uint32_t field, uint64_t value);
  /// Writes nothing if the value is empty.
  ProtoWriter& Bytes(uint32_t field, std::string_view value);
  /// Writes the field even if the message is empty.
  ProtoWriter& Message(uint32_t field, std::string_view message);
  /// Writes the tag and length of a field. The caller writes its `length` bytes next, here or
  /// elsewhere.
  ProtoWriter& Head(uint32_t field, uint64_t length);
  /// Writes complete encoded fields.
  ProtoWriter& Fields(std::string_view fields);
  /// Writes a number without a tag, as in packed numbers.
  ProtoWriter& Varint(uint64_t value);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  /// Returns the bytes, and begins a new message.
  [[nodiscard]] std::string Take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

}  // namespace cccl_cache
