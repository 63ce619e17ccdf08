// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "daemon/core/model/result.h"

/// Protocol between the client library and the process that it starts for one build, over a socket
/// that is this process's standard input (SOCK_STREAM):
///
///   message = flag:u8 (0) length:u32 (big-endian) bytes            (as gRPC frames its messages)
///   library -> process: one message, a BuildRequest with all its contents
///   process -> library: two messages: the error's name, as in the trailer `cccl-error` (empty if
///                       there is none), then a BuildReply or the error's text
///
/// The library closes its end of the socket when no caller waits any more.
namespace cccl_cache::daemon {

/// Blocks until the request is complete. kInvalidRequest: the other end is not the client library.
[[nodiscard]] Result<std::string> ReceiveRequest(int socket);

/// These functions send the reply. They return false if no caller waits any more, or if the reply
/// is larger than a message may be.
[[nodiscard]] bool SendReply(int socket, std::string_view reply);
[[nodiscard]] bool SendError(int socket, const Error& error);

/// Starts a thread that ends this process and its children as soon as the client library closes the
/// other end of the socket. Does nothing if no thread can be started.
void EndWithCaller(int socket);

}  // namespace cccl_cache::daemon
