// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/process/service_process.h"

using namespace cccl_cache::daemon;
using namespace std::chrono_literals;

TEST_CASE("signals wait until somebody asks") {
  const Signals signals;
  CHECK(signals.Wait(0ms) == Told::kNothing);
  std::raise(SIGHUP);
  CHECK(signals.Wait(10s) == Told::kReload);
  std::raise(SIGTERM);
  CHECK(signals.Wait(10s) == Told::kStop);
  std::raise(SIGINT);
  CHECK(signals.Wait(10s) == Told::kStop);
  CHECK(signals.Wait(0ms) == Told::kNothing);
}
