// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/version.h"

namespace cccl_cached {

std::string_view Version() { return CCCL_CACHED_VERSION; }

}  // namespace cccl_cached
