// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cccl_cache/v1/admin.grpc.pb.h"
#include "daemon/core/build_coordinator.h"
#include "daemon/core/statistics.h"
#include "daemon/core/tier.h"
#include "daemon/core/toolchain.h"

namespace cccl_cached {

/// Where the answers of Admin come from. Everything in it is thread-safe and outlives the service.
struct AdminSources {
  Toolchains& toolchains;
  const Statistics& statistics;
  std::function<TierSize()> stored;
  std::function<BuildGauges()> building;
  std::function<uint64_t()> clients;  ///< connections now
  std::chrono::steady_clock::time_point started;
  std::string version;
};

/// cccl_cache.v1.Admin, as far as everybody may ask: totals and toolchains, nothing of other users.
/// Thread-safe.
class AdminService final : public cccl_cache::v1::Admin::CallbackService {
 public:
  explicit AdminService(const AdminSources& sources) : sources_(sources) {}

  grpc::ServerUnaryReactor* Stats(grpc::CallbackServerContext* context,
                                  const cccl_cache::v1::StatsRequest* request,
                                  cccl_cache::v1::StatsReply* reply) override;
  grpc::ServerUnaryReactor* Toolchains(grpc::CallbackServerContext* context,
                                       const cccl_cache::v1::ToolchainsRequest* request,
                                       cccl_cache::v1::ToolchainsReply* reply) override;

 private:
  const AdminSources& sources_;
};

}  // namespace cccl_cached
