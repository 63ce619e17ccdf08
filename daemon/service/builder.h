// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "daemon/core/build_coordinator.h"

namespace cccl_cached {

/// Who answers builds. Thread-safe. The contract of both calls is that of BuildCoordinator.
class Builder {
 public:
  virtual ~Builder() = default;

  virtual BuildCoordinator::Ticket Build(std::shared_ptr<const cccl_cache::BuildRequest> request,
                                         const Peer& peer, BuildCoordinator::Done done) = 0;
  virtual void Leave(BuildCoordinator::Ticket ticket) = 0;
};

/// The daemon's Builder. The coordinator must outlive it.
class CoordinatorBuilder final : public Builder {
 public:
  explicit CoordinatorBuilder(BuildCoordinator& coordinator) : coordinator_(coordinator) {}

  BuildCoordinator::Ticket Build(std::shared_ptr<const cccl_cache::BuildRequest> request,
                                 const Peer& peer, BuildCoordinator::Done done) override {
    return coordinator_.Build(std::move(request), peer, std::move(done));
  }
  void Leave(BuildCoordinator::Ticket ticket) override { coordinator_.Leave(ticket); }

 private:
  BuildCoordinator& coordinator_;
};

}  // namespace cccl_cached
