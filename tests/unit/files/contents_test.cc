// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/files/contents.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace contents_test {

using namespace cccl_cache::daemon;
using cccl_cache::ContentStamp;

namespace {

ContentStamp Stamp(uint64_t inode) {
  ContentStamp stamp;
  stamp.inode = inode;
  return stamp;
}

KnownContents Contents(std::string_view bytes) { return {cccl_cache::Sha256(bytes), false}; }

}  // namespace

TEST_CASE("a digest is found under its stamp and no other") {
  DigestMemory memory(10);
  memory.Remember(Stamp(1), Contents("one"));
  REQUIRE(memory.Find(Stamp(1)));
  CHECK(memory.Find(Stamp(1))->digest == cccl_cache::Sha256("one"));
  CHECK_FALSE(memory.Find(Stamp(2)));
}

TEST_CASE("a later digest of a stamp replaces the earlier one") {
  DigestMemory memory(10);
  memory.Remember(Stamp(1), Contents("one"));
  memory.Remember(Stamp(1), Contents("two"));
  CHECK(memory.Find(Stamp(1))->digest == cccl_cache::Sha256("two"));
  CHECK(memory.size() == 1);
}

TEST_CASE("a full digest memory forgets the least recently used file") {
  DigestMemory memory(2);
  memory.Remember(Stamp(1), Contents("one"));
  memory.Remember(Stamp(2), Contents("two"));
  CHECK(memory.Find(Stamp(1)));
  memory.Remember(Stamp(3), Contents("three"));
  CHECK(memory.Find(Stamp(1)));
  CHECK_FALSE(memory.Find(Stamp(2)));
  CHECK(memory.Find(Stamp(3)));
  CHECK(memory.size() == 2);
}

TEST_CASE("a digest memory of size 0 remembers nothing") {
  DigestMemory memory(0);
  memory.Remember(Stamp(1), Contents("one"));
  CHECK_FALSE(memory.Find(Stamp(1)));
}

TEST_CASE("several threads may use one digest memory at the same time") {
  DigestMemory memory(50);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&memory] {
      for (uint64_t inode = 0; inode < 2000; ++inode) {
        memory.Remember(Stamp(inode % 100), Contents(std::to_string(inode % 100)));
        const auto found = memory.Find(Stamp(inode % 70));
        if (found && found->digest != cccl_cache::Sha256(std::to_string(inode % 70))) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(memory.size() == 50);
}

}  // namespace contents_test
