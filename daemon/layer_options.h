// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "daemon/configuration/configuration.h"
#include "daemon/core/build/coordinator.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/job_memory.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/result.h"
#include "daemon/service/transport/listening_socket.h"

/// What the configuration means to each layer.
namespace cccl_cache::daemon {

[[nodiscard]] BuildLimits BuildLimitsOf(const Configuration& configuration);
[[nodiscard]] Deposits::Options DepositOptionsOf(const Configuration& configuration,
                                                 const Result<uint64_t>& run);
/// A quarter of what may be in flight, beside that, and never less than the largest file takes.
[[nodiscard]] Allowance JobMemoryOf(const Configuration& configuration);
[[nodiscard]] ServiceLimits ServiceLimitsOf(const Configuration& configuration);
/// The directories whose contents are the daemon's alone: its state, and what systemd made for its
/// socket. A directory that merely holds the socket may be anybody's.
[[nodiscard]] std::vector<std::string> OwnDirectoriesOf(const Configuration& configuration,
                                                        const Surroundings& surroundings);
/// `socket`, then those for containers. kInvalidRequest: there is no such group.
[[nodiscard]] Result<std::vector<ListenOptions>> ListenOptionsOf(
    const Configuration& configuration);
/// None: no group is configured. kInvalidRequest: there is no such group.
[[nodiscard]] Result<std::optional<gid_t>> AdminGroupOf(const Configuration& configuration);

}  // namespace cccl_cache::daemon
