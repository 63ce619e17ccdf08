// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/polling.h"

#include <cstdlib>

namespace cccl_cache::daemon {

void WaitForEachServerAlone() { setenv("GRPC_POLL_STRATEGY", "poll", 0); }

}  // namespace cccl_cache::daemon
