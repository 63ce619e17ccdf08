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

/// Reads a protobuf message where it lies, in any number of pieces, one field at a time:
///
///   while (const uint32_t field = reader.Next()) {
///     if (field == kName) name = reader.Text();  // an unread field is skipped
///   }
///   if (!reader.ok()) ...
///
/// The bytes are hostile: no length counts beyond its message, and values take no more memory than
/// on the wire. After the first error nothing is read any more: Next returns 0, and values are 0
/// and empty. A field of another type than the one that is asked for is an error, and so is a
/// group. Not thread-safe; the bytes must outlive it.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) : piece_(message), left_(message.size()) {}
  /// The pieces themselves must outlive the reader too.
  explicit ProtoReader(std::span<const std::string_view> pieces);

  /// Returns the number of the next field, or 0 if there is none.
  [[nodiscard]] uint32_t Next();
  [[nodiscard]] bool ok() const { return ok_; }

  /// These return the value of the current field. At most one may be called, once.
  [[nodiscard]] uint64_t Number();
  [[nodiscard]] double Real();
  [[nodiscard]] std::string Bytes();
  /// Returns bytes that must be UTF-8.
  [[nodiscard]] std::string Text();
  /// Returns bytes without a copy. The reader's message must be in one piece.
  [[nodiscard]] std::string_view View();
  /// Returns a reader of the message in the field. An error in it is one of this reader too, which
  /// must stay in its place meanwhile.
  [[nodiscard]] ProtoReader Message();
  /// Returns the field as it lies, with its tag. The reader's message must be in one piece.
  [[nodiscard]] std::string_view Whole();

  /// Returns whether the current field holds bytes, which may be packed numbers: Message() has
  /// more() of them, and NextOfNumbers() returns them.
  [[nodiscard]] bool is_bytes() const { return type_ == kLengthDelimited; }
  [[nodiscard]] bool more() const { return left_ > 0; }
  [[nodiscard]] uint64_t NextOfNumbers() { return Varint(kMaxVarint); }

 private:
  enum Type : uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

  static constexpr int kMaxVarint = 10;
  static constexpr int kMaxSmallVarint = 5;

  void Fail();
  /// Marks the current field as read. If it has another type, that is an error, and this returns
  /// false.
  bool Begin(Type type);
  uint64_t Varint(int longest);
  uint64_t Length();
  void Skip(uint64_t bytes);
  void SkipField();
  /// Returns the longest run of bytes, up to `most`, that lies in the message and the current
  /// piece.
  std::string_view Take(uint64_t most);

  std::span<const std::string_view> pieces_;  ///< those after the current one
  std::string_view piece_;                    ///< the rest of the current one
  uint64_t left_ = 0;                         ///< bytes left of the message
  const char* field_ = nullptr;               ///< the current field's tag, in one piece
  ProtoReader* outer_ = nullptr;              ///< of the message that this one is in
  uint8_t type_ = 0;                          ///< of the current field
  bool unread_ = false;
  bool ok_ = true;
};

/// Writes the fields of a protobuf message as the generated code writes them. Not thread-safe.
class ProtoWriter {
 public:
  /// Writes the usual number of bytes without growing.
  explicit ProtoWriter(size_t usual_bytes = 0) { bytes_.reserve(usual_bytes); }

  /// Left out if it is 0.
  ProtoWriter& Number(uint32_t field, uint64_t value);
  /// Left out if it is empty.
  ProtoWriter& Bytes(uint32_t field, std::string_view value);
  /// Written even if it is empty.
  ProtoWriter& Message(uint32_t field, std::string_view message);
  /// Writes the tag and length of a field. Its `length` bytes follow, here or elsewhere.
  ProtoWriter& Head(uint32_t field, uint64_t length);
  /// Writes whole fields that are encoded already.
  ProtoWriter& Fields(std::string_view fields);
  /// Writes a number without a tag, as packed numbers are.
  ProtoWriter& Varint(uint64_t value);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  /// Returns the bytes, and begins again.
  [[nodiscard]] std::string Take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

}  // namespace cccl_cache
