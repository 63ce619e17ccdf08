// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tests/bench/side.h"

namespace cccl_cache::daemon {

/// Returns a side that asks the daemon at a socket through client.h. `name` must outlive the side.
/// If the client can't be opened, prints the reason to stderr and returns null.
std::unique_ptr<Side> OpenDaemonSide(const char* name, const std::string& socket);

}  // namespace cccl_cache::daemon
