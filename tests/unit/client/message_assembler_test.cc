// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/message_assembler.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace message_assembler_test {

using cccl_cache::AllocateMessageMemory;
using cccl_cache::CapacityOf;
using cccl_cache::Message;
using cccl_cache::MessageAssembler;
using cccl_cache::MessageMemory;
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

TEST_CASE("a message is assembled in place, without the frame headers between its pieces") {
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
  std::memcpy(rest.data(), "#567", 4);  // '#': a byte of a frame header, which the session consumes
  std::string_view behind_header(rest.data() + 1, 3);
  CHECK(assembler.Append(&behind_header) == State::kIncomplete);
  std::string_view last = "89";
  CHECK(assembler.Append(&last) == State::kComplete);
  CHECK(assembler.Take().View() == "0123456789");
}

TEST_CASE("a compressed or oversized message is invalid before memory is allocated for it") {
  MessageAssembler assembler(100);
  const std::string compressed = Framed("x", 1);
  std::string_view bytes = compressed;
  CHECK(assembler.Append(&bytes) == State::kInvalid);
  MessageAssembler other(100);
  const std::string longer = Framed(std::string(101, 'x'));
  bytes = longer;
  CHECK(other.Append(&bytes) == State::kInvalid);
}

namespace {

constexpr size_t kLarge = size_t{180} << 10;

/// Allocates and frees a message's memory of this size, and returns its address.
const char* GivenBack(size_t size) { return AllocateMessageMemory(size).get(); }

}  // namespace

TEST_CASE("a large message reuses the previous message's memory") {
  const char* const before = GivenBack(kLarge);
  const MessageMemory smaller = AllocateMessageMemory(kLarge - 1000);
  CHECK(smaller.get() == before);
  CHECK(CapacityOf(smaller) == kLarge);
}

TEST_CASE("two messages that live at once have separate memory") {
  static_cast<void>(GivenBack(kLarge));
  const MessageMemory first = AllocateMessageMemory(kLarge);
  const MessageMemory second = AllocateMessageMemory(kLarge);
  std::memset(first.get(), 1, kLarge);
  std::memset(second.get(), 2, kLarge);
  CHECK(std::memchr(first.get(), 2, kLarge) == nullptr);
}

TEST_CASE("memory of an unsuitable size is not reused for a message") {
  // The kept memory has the exact size, so that a sanitizer reports writes beyond it.
  static_cast<void>(GivenBack(kLarge));
  const MessageMemory larger = AllocateMessageMemory(kLarge + 1);
  std::memset(larger.get(), 1, kLarge + 1);
  static_cast<void>(GivenBack(2 * kLarge + 2));
  const MessageMemory small = AllocateMessageMemory(kLarge);
  CHECK(CapacityOf(small) == kLarge);
}

TEST_CASE("threads that receive at once never share memory") {
  std::vector<std::thread> threads;
  std::atomic<int> shared{0};
  for (int number = 1; number <= 4; ++number) {
    threads.emplace_back([number, &shared] {
      for (int i = 0; i < 200; ++i) {
        const MessageMemory memory = AllocateMessageMemory(kLarge);
        std::memset(memory.get(), number, kLarge);
        for (size_t at = 0; at < kLarge; at += 4096) shared += memory[at] != number ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(shared == 0);
}

}  // namespace message_assembler_test
