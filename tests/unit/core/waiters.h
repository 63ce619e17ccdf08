// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "daemon/core/coordinator/flight_table.h"
#include "daemon/core/plan/build_plan.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::testing {

inline std::shared_ptr<const BuildPlan> MakePlan(
    std::shared_ptr<const cccl_cache::BuildRequest> request, const PlanOptions& options = {}) {
  Result<BuildPlan> plan = PlanBuild(std::move(request), MakeToolchain(), options);
  INFO((plan.ok() ? "" : plan.error().message));
  REQUIRE(plan.ok());
  return std::make_shared<const BuildPlan>(*std::move(plan));
}

/// Returns a build with an open ticket and its own plan.
inline BuildPtr MakeWaiter(FlightTable& table,
                           std::shared_ptr<const cccl_cache::BuildRequest> request,
                           const Peer& peer, BuildCoordinator::Done done) {
  auto waiter = std::make_unique<Build>();
  waiter->ticket = table.Open();
  waiter->request = request;
  waiter->peer = peer;
  waiter->done = std::move(done);
  waiter->called = std::chrono::steady_clock::now();
  waiter->plan = MakePlan(std::move(request), {.uid = peer.uid});
  return waiter;
}

}  // namespace cccl_cache::daemon::testing
