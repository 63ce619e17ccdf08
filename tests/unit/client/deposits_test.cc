// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/leases/deposits.h"

#include <catch2/catch.hpp>

namespace deposits_test {

using cccl_cache::FindGroup;

TEST_CASE("a group is found by its name; a number is used directly") {
  CHECK(*FindGroup("root") == 0);
  CHECK(*FindGroup("12345678") == 12345678);
  CHECK(*FindGroup("4294967295") == UINT32_MAX);
}

TEST_CASE("a missing group is refused by its name") {
  for (const char* name : {"no such group", "4294967296", "-1", "0x10", ""}) {
    INFO(name);
    const auto found = FindGroup(name);
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().status == CCCL_CACHE_INVALID_REQUEST);
    CHECK(found.error().message == "this machine has no group \"" + std::string(name) +
                                       "\": name another one, or give its number");
  }
}

}  // namespace deposits_test
