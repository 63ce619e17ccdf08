// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/message_assembler.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

using cccl_cache::Message;
using cccl_cache::MessageAssembler;
using State = MessageAssembler::State;

namespace {

std::string Framed(const std::string& message, char flag = 0) {
  const size_t size = message.size();
  std::string framed = {flag, static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                        static_cast<char>(size >> 8), static_cast<char>(size)};
  return framed + message;
}

}  // namespace

TEST_CASE("a message is put together from pieces of any size") {
  const std::string framed = Framed("hello, world");
  for (size_t piece = 1; piece <= framed.size(); ++piece) {
    MessageAssembler assembler(1000);
    State state = State::kIncomplete;
    for (size_t start = 0; start < framed.size(); start += piece) {
      std::string_view bytes = std::string_view(framed).substr(start, piece);
      CHECK(state == State::kIncomplete);
      state = assembler.Append(&bytes);
      CHECK(bytes.empty());
    }
    REQUIRE(state == State::kComplete);
    const Message message = assembler.Take();
    CHECK(message.View() == "hello, world");
    CHECK(message.bytes[message.size] == '\0');
    CHECK(assembler.empty());
  }
}

TEST_CASE("several messages come out of one piece, empty ones too") {
  const std::string framed = Framed("one") + Framed("") + Framed("two");
  std::string_view bytes = framed;
  MessageAssembler assembler(1000);
  for (const char* expected : {"one", "", "two"}) {
    REQUIRE(assembler.Append(&bytes) == State::kComplete);
    CHECK(assembler.Take().View() == expected);
  }
  CHECK(bytes.empty());
}

TEST_CASE("a message received in its place is not moved, and frame headers in between are") {
  const std::string framed = Framed("0123456789");
  MessageAssembler assembler(1000);
  CHECK(assembler.Room().empty());
  std::string_view first = std::string_view(framed).substr(0, 7);
  assembler.Append(&first);
  const auto room = assembler.Room();
  REQUIRE(room.size() == 8);
  std::memcpy(room.data(), "234", 3);
  std::string_view in_place(room.data(), 3);
  CHECK(assembler.Append(&in_place) == State::kIncomplete);
  const auto rest = assembler.Room();
  CHECK(rest.data() == room.data() + 3);
  std::memcpy(rest.data(), "#567", 4);  // '#': a frame header, which the session has eaten
  std::string_view behind_header(rest.data() + 1, 3);
  CHECK(assembler.Append(&behind_header) == State::kIncomplete);
  std::string_view last = "89";
  CHECK(assembler.Append(&last) == State::kComplete);
  CHECK(assembler.Take().View() == "0123456789");
}

TEST_CASE("a message that is compressed or too long is invalid before memory is taken for it") {
  MessageAssembler assembler(100);
  const std::string compressed = Framed("x", 1);
  std::string_view bytes = compressed;
  CHECK(assembler.Append(&bytes) == State::kInvalid);
  MessageAssembler other(100);
  const std::string longer = Framed(std::string(101, 'x'));
  bytes = longer;
  CHECK(other.Append(&bytes) == State::kInvalid);
}
