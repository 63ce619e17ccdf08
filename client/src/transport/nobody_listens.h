// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cccl_cache/expected.h"
#include "client/src/transport/socket_address.h"

namespace cccl_cache {

/// CCCL_CACHE_NO_DAEMON, for a person: `error`, connect's errno, or what lies at `path` in place of
/// a socket; who named the path; how a daemon is started.
[[nodiscard]] Error NobodyListens(const SocketSearch& search, const std::string& path, int error);
/// CCCL_CACHE_UNAVAILABLE: the daemon took the connection, and says nothing on it.
[[nodiscard]] Error SaysNothing(const std::string& socket);

}  // namespace cccl_cache
