// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tests/bench/side.h"

namespace cccl_cache::daemon {

/// The daemon at a socket through client.h. `name` must outlive the side. Null, with the reason on
/// stderr, if it can't be opened.
std::unique_ptr<Side> OpenDaemonSide(const char* name, const std::string& socket);

}  // namespace cccl_cache::daemon
