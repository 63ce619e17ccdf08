// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>
#include <vector>

#include "client/src/transport/message_assembler.h"

using cccl_cache::AllocateMessageMemory;
using cccl_cache::CapacityOf;
using cccl_cache::MessageMemory;

namespace {

constexpr size_t kLarge = size_t{180} << 10;

/// Where a message of this size lay that is gone.
const char* GivenBack(size_t size) { return AllocateMessageMemory(size).get(); }

}  // namespace

TEST_CASE("a large message gets the memory of the one before") {
  const char* const before = GivenBack(kLarge);
  const MessageMemory smaller = AllocateMessageMemory(kLarge - 1000);
  CHECK(smaller.get() == before);
  CHECK(CapacityOf(smaller) == kLarge);
}

TEST_CASE("two messages that live at once have memory of their own") {
  static_cast<void>(GivenBack(kLarge));
  const MessageMemory first = AllocateMessageMemory(kLarge);
  const MessageMemory second = AllocateMessageMemory(kLarge);
  std::memset(first.get(), 1, kLarge);
  std::memset(second.get(), 2, kLarge);
  CHECK(std::memchr(first.get(), 2, kLarge) == nullptr);
}

TEST_CASE("memory that is too small for a message, or far too large, is not given to it") {
  // What is kept has the exact size, so that a sanitizer sees who writes beyond it.
  static_cast<void>(GivenBack(kLarge));
  const MessageMemory larger = AllocateMessageMemory(kLarge + 1);
  std::memset(larger.get(), 1, kLarge + 1);
  const char* const twice = GivenBack(2 * kLarge + 2);
  const MessageMemory small = AllocateMessageMemory(kLarge);
  CHECK(small.get() != twice);
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
