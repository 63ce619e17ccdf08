// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tests/bench/side.h"

namespace cccl_cached {

/// The daemon at a socket through client.h.
std::unique_ptr<Side> OpenDaemonSide(const std::string& socket);

}  // namespace cccl_cached
