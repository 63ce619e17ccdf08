// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/reservation.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>

#include "tests/support/temporary_directory.h"
#include "tests/support/wait_until.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace cccl_cache::reservation_test {
namespace {

using cccl_cache::daemon::TemporaryDirectory;
using cccl_cache::daemon::WaitUntil;

const MemoryKind kKind{.tool = "tool", .kind = "kind"};

TEST_CASE("a reservation lasts from the daemon's answer to its destruction") {
  const TemporaryDirectory directory;
  std::atomic<bool> left = false;
  std::atomic<uint64_t> reported = 0;
  StandInDaemon server(directory.path() + "/socket",
                       {.reserve =
                            [&](grpc::ServerContext* context, const v1::ReserveRequest& request,
                                grpc::ServerWriter<v1::ReserveReply>* writer) {
                              CHECK(request.kind().tool() == "tool");
                              CHECK(request.kind().kind() == "kind");
                              writer->Write({});
                              CHECK(WaitUntil([context] { return context->IsCancelled(); }));
                              left = true;
                              return grpc::Status::CANCELLED;
                            },
                        .report_peak =
                            [&](const v1::ReportPeakRequest& request) {
                              CHECK(request.kind().kind() == "kind");
                              reported = request.peak_bytes();
                              return grpc::Status::OK;
                            }});
  server.Start();
  auto reservation = Reservation::Await(server.socket(), kKind);
  REQUIRE(reservation != nullptr);
  reservation->Report(5);
  CHECK(reported == 5);
  CHECK_FALSE(left);
  reservation = nullptr;
  CHECK(WaitUntil([&] { return left.load(); }));
}

TEST_CASE("a daemon that does not know reservations gives none, and neither does its absence") {
  const TemporaryDirectory directory;
  StandInDaemon server(directory.path() + "/socket", {});
  server.Start();
  CHECK(Reservation::Await(server.socket(), kKind) == nullptr);
  CHECK(Reservation::Await(directory.path() + "/none", kKind) == nullptr);
}

}  // namespace
}  // namespace cccl_cache::reservation_test
