// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>

namespace cccl_cache::daemon {

/// To be called first in a test that only root can run. Tag such a test [root], and give its
/// unit_test() in CMake the option ROOT. `ctest --label-exclude root` then excludes the test.
inline void RequireRoot() {
  if (geteuid() != 0) {
    FAIL("only root can do what this tests: run it as root, or scripts/test, which uses sudo");
  }
}

}  // namespace cccl_cache::daemon
