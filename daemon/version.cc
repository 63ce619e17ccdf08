// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/version.h"

namespace cccl_cache::daemon {

std::string_view Version() { return CCCL_CACHED_VERSION; }

}  // namespace cccl_cache::daemon
