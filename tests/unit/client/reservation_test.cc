// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/leases/reservation.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "tests/support/temporary_directory.h"
#include "tests/support/wait_until.h"
#include "tests/unit/client/stand_in_daemon.h"

namespace cccl_cache::reservation_test {
namespace {

using cccl_cache::daemon::TemporaryDirectory;
using cccl_cache::daemon::WaitUntil;

const MemoryKind kKind{.tool = "tool", .kind = "kind"};

/// A daemon that grants the reservation, or never answers. Its threads check nothing, because
/// assertions are not thread-safe.
struct Scene {
  explicit Scene(bool given) : grants(given) {}

  const bool grants;
  std::string reserved;
  std::string reported_kind;
  std::atomic<uint64_t> reported = 0;
  std::atomic<bool> left = false;  ///< whether the client has left the call
  TemporaryDirectory directory;
  StandInDaemon server{directory / "socket",
                       {.reserve =
                            [this](grpc::ServerContext* context, const v1::ReserveRequest& request,
                                   grpc::ServerWriter<v1::ReserveReply>* writer) {
                              reserved = request.kind().tool() + " " + request.kind().kind();
                              if (grants) writer->Write({});
                              left = WaitUntil([context] { return context->IsCancelled(); });
                              return grpc::Status::CANCELLED;
                            },
                        .report_peak =
                            [this](const v1::ReportPeakRequest& request) {
                              reported_kind = request.kind().kind();
                              reported = request.peak_bytes();
                              return grpc::Status::OK;
                            }}};
};

TEST_CASE("a reservation lasts from the daemon's answer to its destruction") {
  Scene scene(true);
  auto reservation = Reservation::Await(scene.server.socket(), kKind);
  REQUIRE(reservation != nullptr);
  CHECK(scene.reserved == "tool kind");
  reservation->Report(5);
  CHECK(scene.reported == 5);
  CHECK(scene.reported_kind == "kind");
  CHECK_FALSE(scene.left);
  reservation = nullptr;
  CHECK(WaitUntil([&] { return scene.left.load(); }));
}

TEST_CASE("a wait for memory ends after its time, and leaves the daemon's queue") {
  Scene scene(false);
  CHECK(Reservation::Await(scene.server.socket(), kKind, std::chrono::milliseconds(100)) ==
        nullptr);
  CHECK(WaitUntil([&] { return scene.left.load(); }));
}

TEST_CASE("a daemon that does not know reservations gives none, and neither does its absence") {
  const TemporaryDirectory directory;
  StandInDaemon server(directory.path() + "/socket", {});
  CHECK(Reservation::Await(server.socket(), kKind) == nullptr);
  CHECK(Reservation::Await(directory.path() + "/none", kKind) == nullptr);
}

}  // namespace
}  // namespace cccl_cache::reservation_test
