// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cccl_cache/expected.h"
#include "client/src/transport/channel.h"
#include "client/src/transport/timing.h"

namespace cccl_cache {

/// Uploads a library to the daemon: the libnvrtc at this path with the builtins beside it, or the
/// libnvJitLink at this path. Returns false if the daemon already has one with the same contents.
[[nodiscard]] Expected<bool> AddRelease(Channel* channel, const std::string& library,
                                        Deadline deadline);

/// Returns the version of the NVIDIA release to which the library belongs. The result is empty if
/// the daemon already has one with the same contents. Returns the same errors as AddRelease, but
/// uploads nothing.
[[nodiscard]] Expected<std::string> FindRelease(Channel* channel, const std::string& library,
                                                Deadline deadline);

}  // namespace cccl_cache
