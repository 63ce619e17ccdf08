// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cccl_cache/expected.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// Uploads the library at this path to the daemon: a libnvrtc with the builtins beside it, or a
/// libnvJitLink. Returns whether the daemon took it. False: the daemon has one with the same bytes.
[[nodiscard]] Expected<bool> AddRelease(Channel* channel, const std::string& library,
                                        Deadline deadline);

/// Returns the version of NVIDIA's release that AddRelease would upload. Empty if the daemon has
/// one with the same bytes. Fails as AddRelease would.
[[nodiscard]] Expected<std::string> FindRelease(Channel* channel, const std::string& library,
                                                Deadline deadline);

}  // namespace cccl_cache
