// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cccl_cache/expected.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// Gives the daemon the libnvrtc, with the builtins beside it, or libnvJitLink at this path.
/// Returns whether the daemon took it; false: it has one with the same bytes.
[[nodiscard]] Expected<bool> AddRelease(Channel* channel, const std::string& library,
                                        Deadline deadline);

/// Returns the version of the release of NVIDIA's that AddRelease would give; empty if the daemon
/// has one with the same bytes. Fails as AddRelease would.
[[nodiscard]] Expected<std::string> FindRelease(Channel* channel, const std::string& library,
                                                Deadline deadline);

}  // namespace cccl_cache
