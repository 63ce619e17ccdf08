// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "daemon/process/service_process.h"

using namespace cccl_cache::daemon;

TEST_CASE(
    "a process may open as many files as it is allowed to, not only as many as it began with") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE(before.rlim_max > 100);
  const rlimit low{100, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  RaiseFileLimit();
  rlimit after{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &after) == 0);
  CHECK(after.rlim_cur == before.rlim_max);
  CHECK(after.rlim_max == before.rlim_max);
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
}
