// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Returns bytes that no other process can guess.
[[nodiscard]] Digest RandomDigest();
/// Returns a random time between half of `pause` and `pause`, so that the nodes of a cluster do not
/// all act at the same time.
[[nodiscard]] std::chrono::milliseconds Jittered(std::chrono::milliseconds pause);

}  // namespace cccl_cache::daemon
