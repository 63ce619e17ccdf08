// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tests/bench/side.h"

namespace cccl_cache::daemon {

/// A gRPC server of the Build service at a socket, through gRPC's own C++ client: generated stub,
/// synchronous call, default settings but for the size of a message.
std::unique_ptr<Side> OpenGrpcSide(const char* name, const std::string& socket);

}  // namespace cccl_cache::daemon
