// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>

namespace cccl_cache::daemon {

/// To be called first in a test that only root can run. Such tests are tagged [root], and their
/// layer is a unit_test with ROOT, so `ctest --label-exclude root` excludes them.
inline void RequireRoot() {
  if (geteuid() != 0) {
    FAIL("only root can do what this tests: run it as root, or scripts/test, which uses sudo");
  }
}

}  // namespace cccl_cache::daemon
