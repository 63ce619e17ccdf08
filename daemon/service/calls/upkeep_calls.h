// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "cccl_cache/v1/admin.pb.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/upkeep.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/blocking_call.h"
#include "daemon/system/blocking_pool.h"

namespace cccl_cache::daemon {

/// A call of Admin.Evict or Admin.Verify. Refuses everyone but administrators.
class UpkeepCall final : public BlockingCall {
 public:
  enum class Task : uint8_t { kEvict, kVerify };

  UpkeepCall(BuildBackend& backend, Upkeep& upkeep, BlockingPool& threads, Peer peer, Task task,
             CallStream& stream)
      : BlockingCall(backend, threads, std::move(peer), stream), upkeep_(upkeep), task_(task) {}

 private:
  Status Work() override;
  [[nodiscard]] Status Evict();
  [[nodiscard]] Status Verify();

  Upkeep& upkeep_;
  const Task task_;
};

/// kInvalidRequest names the field.
[[nodiscard]] Result<EvictionFilter> FromProto(const cccl_cache::v1::EvictRequest& request);

}  // namespace cccl_cache::daemon
