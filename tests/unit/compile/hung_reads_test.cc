// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/hung_reads.h"

#include <catch2/catch.hpp>

namespace cccl_cache::daemon {
namespace {

TEST_CASE("a user whose reads hang may start no more until one ends, others may") {
  HungReads reads;
  for (size_t i = 0; i < HungReads::kMaxPerUid; ++i) {
    CHECK_FALSE(reads.Full(Account(1)));
    reads.Begin(Account(1));
  }
  CHECK(reads.Full(Account(1)));
  CHECK_FALSE(reads.Full(Account(2)));
  reads.End(Account(1));
  CHECK_FALSE(reads.Full(Account(1)));
}

TEST_CASE("reads of all users that hang have a bound of their own, with a part kept for root") {
  HungReads reads;
  for (uid_t user = 1; user <= 100; ++user) {
    while (!reads.Full(Account(user))) reads.Begin(Account(user));
  }
  CHECK(reads.count() < HungReads::kMax);
  CHECK(reads.Full(Account(1000)));
  CHECK_FALSE(reads.Full(Account(0)));
  reads.End(Account(1));
  CHECK_FALSE(reads.Full(Account(1000)));
}

}  // namespace
}  // namespace cccl_cache::daemon
