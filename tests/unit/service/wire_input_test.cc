// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/wire_input.h"

#include <catch2/catch.hpp>
#include <vector>

#include "daemon/service/wire/wire_output.h"

namespace cccl_cache::daemon {
namespace {

constexpr uint32_t kNumber = 1;
constexpr uint32_t kText = 2;
constexpr uint32_t kInner = 3;

/// The bytes, each in a piece of its own, with empty pieces between them.
std::vector<std::string_view> OneByOne(std::string_view bytes) {
  std::vector<std::string_view> pieces;
  for (size_t i = 0; i < bytes.size(); ++i) {
    pieces.push_back(bytes.substr(i, 1));
    pieces.push_back({});
  }
  return pieces;
}

/// Reads to the end, each field as what it is; false if the message is not well formed.
bool ReadsWell(std::string_view bytes) {
  const auto pieces = OneByOne(bytes);
  WireInput input(pieces);
  while (const uint32_t field = input.Next()) {
    if (field == kNumber) static_cast<void>(input.Number());
    if (field == kText) static_cast<void>(input.Text());
    if (field == kInner) {
      const WireInput::Nested inner(input);
      while (input.Next() != 0) static_cast<void>(input.Number());
    }
  }
  return input.well_formed();
}

TEST_CASE("a message is read field by field, in whatever pieces it came") {
  std::string bytes;
  AppendNumber(kNumber, 300, bytes);
  AppendBytes(kText, "text", bytes);
  const auto pieces = OneByOne(bytes);
  WireInput input(pieces);
  CHECK(input.Next() == kNumber);
  CHECK(input.Number() == 300);
  CHECK(input.Next() == kText);
  CHECK(input.is_bytes());
  CHECK(input.Text() == "text");
  CHECK(input.Next() == 0);
  CHECK(input.well_formed());
}

TEST_CASE("fields that nobody reads are skipped, of each type") {
  std::string bytes;
  AppendNumber(9, UINT64_MAX, bytes);
  AppendBytes(10, "bytes", bytes);
  bytes += std::string("\x59", 1) + std::string(8, 'x');  // field 11, 64 bits
  bytes += std::string("\x65", 1) + std::string(4, 'x');  // field 12, 32 bits
  AppendNumber(kNumber, 7, bytes);
  const auto pieces = OneByOne(bytes);
  WireInput input(pieces);
  std::vector<uint32_t> seen;
  for (uint32_t field = input.Next(); field != kNumber; field = input.Next()) {
    seen.push_back(field);
  }
  CHECK(seen == std::vector<uint32_t>{9, 10, 11, 12});
  CHECK(input.Number() == 7);
}

TEST_CASE("a message inside another ends where it says, however much of it was read") {
  std::string inner;
  AppendNumber(kNumber, 1, inner);
  AppendBytes(kText, "rest", inner);
  std::string bytes;
  AppendMessage(kInner, inner, bytes);
  AppendNumber(kNumber, 5, bytes);
  for (const int fields_read : {0, 1, 2}) {
    const auto pieces = OneByOne(bytes);
    WireInput input(pieces);
    REQUIRE(input.Next() == kInner);
    {
      const WireInput::Nested nested(input);
      CHECK(nested.more());
      for (int i = 0; i < fields_read; ++i) CHECK(input.Next() != 0);
    }
    CHECK(input.Next() == kNumber);
    CHECK(input.Number() == 5);
    CHECK(input.well_formed());
  }
}

TEST_CASE("numbers may lie in bytes one after the other") {
  const std::string bytes("\x0a\x03\x05\xac\x02", 5);
  const auto pieces = OneByOne(bytes);
  WireInput input(pieces);
  REQUIRE(input.Next() == 1);
  REQUIRE(input.is_bytes());
  std::vector<uint64_t> numbers;
  {
    const WireInput::Nested packed(input);
    while (packed.more()) numbers.push_back(input.NextOfNumbers());
  }
  CHECK(numbers == std::vector<uint64_t>{5, 300});
  CHECK(input.well_formed());
}

TEST_CASE("no length is believed beyond the message that it is in") {
  std::string outer;
  AppendHead(kInner, 3, outer);
  outer += std::string("\x12\x09xyz", 5);  // text of 9 bytes inside a message of 3
  CHECK_FALSE(ReadsWell(outer));
  CHECK_FALSE(ReadsWell(std::string("\x12\x05xyz", 5)));
  CHECK_FALSE(ReadsWell(std::string("\x1a\x05\x08\x01", 4)));
  CHECK_FALSE(ReadsWell(std::string("\x12\xff\xff\xff\xff\x0f", 6)));
}

TEST_CASE("what is no protobuf is not well formed") {
  CHECK(ReadsWell(""));
  CHECK_FALSE(ReadsWell(std::string("\x00", 1)));            // field 0
  CHECK_FALSE(ReadsWell(std::string("\x0b\x0c", 2)));        // a group
  CHECK_FALSE(ReadsWell(std::string("\x0e", 1)));            // no type at all
  CHECK_FALSE(ReadsWell(std::string("\x08\x80", 2)));        // a number that breaks off
  CHECK_FALSE(ReadsWell("\x08" + std::string(11, '\xff')));  // and one without end
  CHECK_FALSE(ReadsWell(std::string("\x59xxx", 4)));         // 64 bits of which 24 are there
  CHECK_FALSE(ReadsWell(std::string("\xff\xff\xff\xff\x7f\x01", 6)));  // a field beyond 32 bits
}

TEST_CASE("a field of another type than is asked for is wrong, and so is text that is not UTF-8") {
  CHECK_FALSE(ReadsWell(std::string("\x0a\x01x", 3)));  // bytes where a number is asked for
  CHECK_FALSE(ReadsWell(std::string("\x10\x01", 2)));   // a number where text is
  CHECK_FALSE(ReadsWell(std::string("\x12\x01\xff", 3)));
}

TEST_CASE("a value is there once") {
  const std::string bytes("\x08\x07", 2);
  const auto pieces = OneByOne(bytes);
  WireInput input(pieces);
  REQUIRE(input.Next() == kNumber);
  CHECK(input.Number() == 7);
  CHECK(input.Number() == 0);
  CHECK_FALSE(input.well_formed());
}

TEST_CASE("once something is wrong, nothing is read any more") {
  const std::string bytes("\x0b\x08\x07", 3);
  const auto pieces = OneByOne(bytes);
  WireInput input(pieces);
  CHECK(input.Next() == 1);
  CHECK(input.Next() == 0);
  CHECK(input.Next() == 0);
  CHECK(input.Number() == 0);
  CHECK(input.Bytes().empty());
}

}  // namespace
}  // namespace cccl_cache::daemon
