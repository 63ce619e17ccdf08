// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <cstddef>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// What is longer is cut: gRPC clients take some 8 KiB of trailers, percent-encoded.
inline constexpr size_t kLongestErrorText = 2048;

/// The status that a client sees for an error (docs/protocol.md has the table); adds the trailers
/// cccl-error and cccl-retry-ms to the call.
[[nodiscard]] grpc::Status ToGrpcStatus(const Error& error, grpc::ServerContextBase& context);

}  // namespace cccl_cache::daemon
