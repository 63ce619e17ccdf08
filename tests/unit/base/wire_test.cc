// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/wire.h"

#include <catch2/catch.hpp>
#include <vector>

namespace cccl_cache::wire_test {
namespace {

constexpr uint32_t kNumber = 1;
constexpr uint32_t kText = 2;
constexpr uint32_t kInner = 3;

/// Returns each byte as a separate piece, with empty pieces between them.
std::vector<std::string_view> OneByOne(std::string_view bytes) {
  std::vector<std::string_view> pieces;
  for (size_t i = 0; i < bytes.size(); ++i) {
    pieces.push_back(bytes.substr(i, 1));
    pieces.push_back({});
  }
  return pieces;
}

/// Reads every field by its type; returns false if the message is malformed.
bool ReadsWell(std::string_view bytes) {
  const auto pieces = OneByOne(bytes);
  ProtoReader reader(pieces);
  while (const uint32_t field = reader.Next()) {
    if (field == kNumber) static_cast<void>(reader.Number());
    if (field == kText) static_cast<void>(reader.Text());
    if (field == kInner) {
      ProtoReader inner = reader.Message();
      while (inner.Next() != 0) static_cast<void>(inner.Number());
    }
  }
  return reader.ok();
}

TEST_CASE("a message in any pieces is read field by field") {
  const std::string bytes = ProtoWriter().Number(kNumber, 300).Bytes(kText, "text").Take();
  const auto pieces = OneByOne(bytes);
  ProtoReader reader(pieces);
  CHECK(reader.Next() == kNumber);
  CHECK(reader.Number() == 300);
  CHECK(reader.Next() == kText);
  CHECK(reader.is_bytes());
  CHECK(reader.Text() == "text");
  CHECK(reader.Next() == 0);
  CHECK(reader.ok());
}

TEST_CASE("a real number is read from its eight bytes, and fewer are an error") {
  const std::string bytes("\x09\x00\x00\x00\x00\x00\x00\xf8\x3f", 9);
  const auto read = [](std::string_view message) {
    const auto pieces = OneByOne(message);
    ProtoReader reader(pieces);
    CHECK(reader.Next() == kNumber);
    const double value = reader.Real();
    return reader.ok() ? value : -1;
  };
  CHECK(read(bytes) == 1.5);
  CHECK(read(std::string_view(bytes).substr(0, 8)) == -1);
  CHECK(read(ProtoWriter().Number(kNumber, 7).bytes()) == -1);
}

TEST_CASE("unread fields of each type are skipped") {
  const std::string bytes = ProtoWriter()
                                .Number(9, UINT64_MAX)
                                .Bytes(10, "bytes")
                                .Fields("\x59xxxxxxxx")  // field 11, 64 bits
                                .Fields("\x65xxxx")      // field 12, 32 bits
                                .Number(kNumber, 7)
                                .Take();
  const auto pieces = OneByOne(bytes);
  ProtoReader reader(pieces);
  std::vector<uint32_t> seen;
  for (uint32_t field = reader.Next(); field != kNumber; field = reader.Next()) {
    seen.push_back(field);
  }
  CHECK(seen == std::vector<uint32_t>{9, 10, 11, 12});
  CHECK(reader.Number() == 7);
}

TEST_CASE("an inner message ends at its length, however much of it was read") {
  const std::string inner = ProtoWriter().Number(kNumber, 1).Bytes(kText, "rest").Take();
  const std::string bytes = ProtoWriter().Message(kInner, inner).Number(kNumber, 5).Take();
  for (const int fields_read : {0, 1, 2}) {
    const auto pieces = OneByOne(bytes);
    ProtoReader reader(pieces);
    REQUIRE(reader.Next() == kInner);
    ProtoReader nested = reader.Message();
    CHECK(nested.more());
    for (int i = 0; i < fields_read; ++i) CHECK(nested.Next() != 0);
    CHECK(reader.Next() == kNumber);
    CHECK(reader.Number() == 5);
    CHECK(reader.ok());
  }
}

TEST_CASE("numbers may be packed") {
  const std::string bytes("\x0a\x03\x05\xac\x02", 5);
  const auto pieces = OneByOne(bytes);
  ProtoReader reader(pieces);
  REQUIRE(reader.Next() == 1);
  REQUIRE(reader.is_bytes());
  std::vector<uint64_t> numbers;
  ProtoReader packed = reader.Message();
  while (packed.more()) numbers.push_back(packed.NextOfNumbers());
  CHECK(numbers == std::vector<uint64_t>{5, 300});
  CHECK(reader.ok());
}

TEST_CASE("a length beyond the enclosing message is refused") {
  // A text of 9 bytes inside a message of 3.
  CHECK_FALSE(ReadsWell(ProtoWriter().Head(kInner, 3).Fields("\x12\x09xyz").Take()));
  CHECK_FALSE(ReadsWell(std::string("\x12\x05xyz", 5)));
  CHECK_FALSE(ReadsWell(std::string("\x1a\x05\x08\x01", 4)));
  CHECK_FALSE(ReadsWell(std::string("\x12\xff\xff\xff\xff\x0f", 6)));
}

TEST_CASE("malformed protobuf is detected") {
  CHECK(ReadsWell(""));
  CHECK_FALSE(ReadsWell(std::string("\x00", 1)));                      // field 0
  CHECK_FALSE(ReadsWell(std::string("\x0b\x0c", 2)));                  // a group
  CHECK_FALSE(ReadsWell(std::string("\x0e", 1)));                      // no type at all
  CHECK_FALSE(ReadsWell(std::string("\x08\x80", 2)));                  // a truncated number
  CHECK_FALSE(ReadsWell("\x08" + std::string(11, '\xff')));            // a number of too many bytes
  CHECK_FALSE(ReadsWell(std::string("\x59xxx", 4)));                   // 24 bits in place of 64
  CHECK_FALSE(ReadsWell(std::string("\xff\xff\xff\xff\x7f\x01", 6)));  // a field beyond 32 bits
}

TEST_CASE("a field of the wrong type is an error, and so is text that is not UTF-8") {
  CHECK_FALSE(ReadsWell(std::string("\x0a\x01x", 3)));  // bytes in place of a number
  CHECK_FALSE(ReadsWell(std::string("\x10\x01", 2)));   // a number in place of a text
  CHECK_FALSE(ReadsWell(std::string("\x12\x01\xff", 3)));
}

TEST_CASE("a field's value can be read only once") {
  const std::string bytes("\x08\x07", 2);
  const auto pieces = OneByOne(bytes);
  ProtoReader reader(pieces);
  REQUIRE(reader.Next() == kNumber);
  CHECK(reader.Number() == 7);
  CHECK(reader.Number() == 0);
  CHECK_FALSE(reader.ok());
}

TEST_CASE("after an error no further field is read") {
  const std::string bytes("\x0b\x08\x07", 3);
  const auto pieces = OneByOne(bytes);
  ProtoReader reader(pieces);
  CHECK(reader.Next() == 1);
  CHECK(reader.Next() == 0);
  CHECK(reader.Next() == 0);
  CHECK(reader.Number() == 0);
  CHECK(reader.Bytes().empty());
}

TEST_CASE("an error inside a message makes its enclosing messages invalid") {
  const std::string damaged("\x1a\x02\x08\x80\x08\x01",
                            6);  // a truncated number, then another
  ProtoReader reader(damaged);
  REQUIRE(reader.Next() == kInner);
  ProtoReader inner = reader.Message();
  REQUIRE(inner.Next() == kNumber);
  CHECK(inner.Number() == 0);
  CHECK_FALSE(inner.ok());
  CHECK_FALSE(reader.ok());
  CHECK(reader.Next() == 0);
}

TEST_CASE("bytes in one piece are read in place") {
  const std::string bytes =
      ProtoWriter().Bytes(kText, "text").Number(9, 300).Message(kInner, "").Take();
  ProtoReader reader(bytes);
  REQUIRE(reader.Next() == kText);
  CHECK(reader.View().data() == bytes.data() + 2);
  REQUIRE(reader.Next() == 9);
  CHECK(reader.Whole() == std::string_view(bytes).substr(6, 3));
  REQUIRE(reader.Next() == kInner);
  CHECK(reader.View().empty());
  CHECK(reader.Next() == 0);
  CHECK(reader.ok());
}

TEST_CASE("a written number is read back unchanged") {
  for (const uint64_t number : {uint64_t{1}, uint64_t{127}, uint64_t{128}, uint64_t{300},
                                uint64_t{UINT32_MAX}, UINT64_MAX}) {
    const std::string bytes = ProtoWriter().Number(15, number).Take();
    ProtoReader reader(bytes);
    REQUIRE(reader.Next() == 15);
    CHECK(reader.Number() == number);
  }
}

TEST_CASE("empty fields are left out, except messages") {
  CHECK(ProtoWriter().Number(1, 0).Bytes(2, "").Take().empty());
  CHECK(ProtoWriter().Message(3, "").Take() == std::string("\x1a\x00", 2));
}

TEST_CASE("a head has the field and the length of the bytes that follow") {
  CHECK(ProtoWriter().Head(15, 300).Take() == "\x7a\xac\x02");
}

}  // namespace
}  // namespace cccl_cache::wire_test
