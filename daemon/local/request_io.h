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
/// The library's end of the socket closes when no caller waits any more.
namespace cccl_cache::daemon {

/// Blocks until the request is complete. kInvalidRequest: the other end is not the client library.
[[nodiscard]] Result<std::string> ReceiveRequest(int socket);

/// Return false if no caller waits any more, or the reply is longer than a message can be.
[[nodiscard]] bool SendReply(int socket, std::string_view reply);
[[nodiscard]] bool SendError(int socket, const Error& error);

/// From now on this process and its children end as soon as the other end is closed, unless no
/// thread can be started to watch it.
void EndWithCaller(int socket);

}  // namespace cccl_cache::daemon
