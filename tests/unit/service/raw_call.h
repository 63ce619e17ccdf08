// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "tests/unit/service/running_server.h"

namespace cccl_cache::daemon {

/// The result of a call whose messages are bytes.
struct RawAnswer {
  grpc::Status status;
  std::string message;  ///< the first message
  std::string error;    ///< the trailer cccl-error
};

/// Calls the method on a new connection with one message, which may be invalid, and waits for the
/// end of the call.
[[nodiscard]] RawAnswer CallRaw(const RunningServer& running, const std::string& method,
                                const std::string& message);

}  // namespace cccl_cache::daemon
