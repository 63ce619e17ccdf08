// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tests/bench/side.h"

namespace cccl_cache::daemon {

/// Returns a side that asks a Redis at a Unix socket, through hiredis, for a value of the
/// question's size. The first question stores the value.
std::unique_ptr<Side> OpenRedisSide(const std::string& socket);

}  // namespace cccl_cache::daemon
