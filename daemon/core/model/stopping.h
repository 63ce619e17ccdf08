// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// What is told to who comes while the daemon ends: another one may be there in a moment.
[[nodiscard]] inline Error Stopping() {
  return {ErrorCode::kUnavailable, "the daemon is stopping; try again",
          std::chrono::milliseconds(100)};
}

/// What a build depends on changed again each time it was tried.
[[nodiscard]] Error Unsettled();

/// Its files were looked at in vain for so long.
[[nodiscard]] Error FilesHang(std::chrono::milliseconds limit);

}  // namespace cccl_cache::daemon
