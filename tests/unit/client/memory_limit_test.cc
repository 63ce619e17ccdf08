// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdlib>

#include "cccl_cache/client_c.h"
#include "client/src/c_abi/this_process.h"

using cccl_cache::MemoryLimit;

namespace {

/// The environment says this while it lives.
struct Says {
  explicit Says(const char* bytes) { setenv("CCCL_CACHE_PROCESS_BYTES", bytes, 1); }
  ~Says() { unsetenv("CCCL_CACHE_PROCESS_BYTES"); }
  Says(const Says&) = delete;
  Says& operator=(const Says&) = delete;
};

}  // namespace

TEST_CASE("what the program asks for counts before the environment") {
  const Says says("5");
  CHECK(*MemoryLimit(7) == 7);
  CHECK(*MemoryLimit(CCCL_CACHE_OFF) == 0);
}

TEST_CASE("a program that asks for nothing gets what the environment says, or the default") {
  CHECK(*MemoryLimit(0) == uint64_t{64} << 20);
  const Says bytes("5");
  CHECK(*MemoryLimit(0) == 5);
  const Says off("off");
  CHECK(*MemoryLimit(0) == 0);
}

TEST_CASE("an environment that says no number is refused in its own words") {
  for (const char* wrong : {"64M", "", "-1", "99999999999999999999", "OFF"}) {
    const Says says(wrong);
    const auto limit = MemoryLimit(0);
    REQUIRE_FALSE(limit.ok());
    CHECK(limit.error().status == CCCL_CACHE_INVALID_REQUEST);
    CHECK(limit.error().message == "CCCL_CACHE_PROCESS_BYTES is \"" + std::string(wrong) +
                                       "\": a number of bytes, or off, is expected");
  }
}
