// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tests/bench/side.h"

namespace cccl_cache::daemon {

/// GET of a value of the question's size from the Redis at a Unix socket, by hiredis. Values are
/// put there at the first ask.
std::unique_ptr<Side> OpenRedisSide(const std::string& socket);

}  // namespace cccl_cache::daemon
