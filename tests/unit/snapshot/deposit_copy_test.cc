// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "base/codec.h"
#include "daemon/snapshot/records.h"

namespace cccl_cache::daemon {
namespace {

DepositCopy Copy(const std::string& name_space = "org.example") {
  return {name_space, cccl_cache::Sha256("fields"), std::make_shared<const std::string>("bytes")};
}

TEST_CASE("a deposit comes back under what it is") {
  const std::string bytes = EncodeDepositCopy(Copy());
  const auto back = DecodeDepositCopy(Copy().identity(), bytes);
  REQUIRE(back);
  CHECK(back->name_space == "org.example");
  CHECK(back->fields == Copy().fields);
  CHECK(*back->contents == "bytes");
  CHECK(EncodeDepositCopy(*back) == bytes);
}

TEST_CASE("a deposit is none under what another one is") {
  CHECK_FALSE(DecodeDepositCopy(Copy("other").identity(), EncodeDepositCopy(Copy())));
}

TEST_CASE("a deposit that was cut off, or has a namespace that nobody can name, is none") {
  const std::string bytes = EncodeDepositCopy(Copy());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(DecodeDepositCopy(Copy().identity(), bytes.substr(0, size)));
  }
  CHECK_FALSE(DecodeDepositCopy(Copy().identity(), bytes + "x"));
  for (const size_t length : {0, 129}) {
    const DepositCopy copy = Copy(std::string(length, 'n'));
    CHECK_FALSE(DecodeDepositCopy(copy.identity(), EncodeDepositCopy(copy)));
  }
}

}  // namespace
}  // namespace cccl_cache::daemon
