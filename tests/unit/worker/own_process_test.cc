// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <memory>
#include <thread>

#include "daemon/worker/zygote.h"

namespace cccl_cache::daemon::own_process_test {
namespace {

TEST_CASE("threads of this process are counted") {
  std::thread([] {}).join();  // with the first thread a sanitizer may start one of its own
  const int before = OwnThreads();
  CHECK(before > 0);
  int meanwhile = 0;
  std::thread thread([&] { meanwhile = OwnThreads(); });
  thread.join();
  CHECK(meanwhile == before + 1);
}

TEST_CASE("writable mapped memory is counted in bytes") {
  const uint64_t before = OwnDataBytes();
  CHECK(before > 0);
  const auto block = std::make_unique<char[]>(256u << 20);
  CHECK(OwnDataBytes() >= before + (256u << 20));
}

TEST_CASE("address space is counted in bytes, with or without memory") {
  constexpr size_t kBytes = 1u << 30;
  const uint64_t before = OwnAddressBytes();
  void* reserved = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(reserved != MAP_FAILED);
  CHECK(OwnAddressBytes() >= before + kBytes);
  munmap(reserved, kBytes);
}

}  // namespace
}  // namespace cccl_cache::daemon::own_process_test
