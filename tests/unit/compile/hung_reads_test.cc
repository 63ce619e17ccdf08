// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/hung_reads.h"

#include <catch2/catch.hpp>

namespace cccl_cached {
namespace {

TEST_CASE("a user whose reads hang may start no more until one ends, others may") {
  HungReads reads;
  for (size_t i = 0; i < HungReads::kMostPerUid; ++i) {
    CHECK_FALSE(reads.Full(1));
    reads.Begin(1);
  }
  CHECK(reads.Full(1));
  CHECK_FALSE(reads.Full(2));
  reads.End(1);
  CHECK_FALSE(reads.Full(1));
}

TEST_CASE("reads of all users that hang have a bound of their own") {
  HungReads reads;
  uid_t user = 0;
  while (reads.count() < HungReads::kMost) {
    if (reads.Full(user)) ++user;
    reads.Begin(user);
  }
  CHECK(reads.Full(user + 1));
  reads.End(0);
  CHECK_FALSE(reads.Full(user + 1));
}

}  // namespace
}  // namespace cccl_cached
