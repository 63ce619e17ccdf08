// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cccl_cache/v1/admin.pb.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/upkeep.h"
#include "daemon/service/calls/blocking_call.h"

namespace cccl_cache::daemon {

// Admin.Evict and Admin.Verify. Only administrators may call them.
[[nodiscard]] Status Evict(BlockingCall& call, Upkeep& upkeep);
[[nodiscard]] Status Verify(BlockingCall& call, Upkeep& upkeep);

/// Converts a filter. kInvalidRequest names the invalid field.
[[nodiscard]] Result<EvictionFilter> FromProto(const cccl_cache::v1::EvictRequest& request);

}  // namespace cccl_cache::daemon
