// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tests/bench/side.h"

namespace cccl_cache::daemon {

/// Returns a side that asks a gRPC server of the Build service at a socket through gRPC's own C++
/// client. It uses the generated stub, synchronous calls and default settings except for the
/// message size.
std::unique_ptr<Side> OpenGrpcSide(const char* name, const std::string& socket);

}  // namespace cccl_cache::daemon
