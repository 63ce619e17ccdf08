// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/leases/reservation.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/temporary_directory.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace cccl_cache::reservation_test {
namespace {

using cccl_cache::daemon::TemporaryDirectory;

const MemoryKind kKind{.tool = "tool", .kind = "kind"};

TEST_CASE("a daemon that does not know reservations gives none, and neither does its absence") {
  const TemporaryDirectory directory;
  StandInDaemon server(directory.path() + "/socket", {});
  server.Start();
  CHECK(Reservation::Await(server.socket(), kKind) == nullptr);
  CHECK(Reservation::Await(directory.path() + "/none", kKind) == nullptr);
}

}  // namespace
}  // namespace cccl_cache::reservation_test
