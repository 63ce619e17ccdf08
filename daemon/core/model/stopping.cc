// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/stopping.h"

#include <fmt/format.h>

namespace cccl_cache::daemon {

Error Unsettled() {
  return Error{ErrorCode::kUnavailable,
               "what this build depends on keeps changing on disk; try again when it has settled"};
}

Error FilesHang(std::chrono::milliseconds limit) {
  return Error{ErrorCode::kTimedOut,
               fmt::format("the files of this build could not be looked at within {} s: does a "
                           "file system hang that its directories lie on?",
                           std::chrono::ceil<std::chrono::seconds>(limit).count())};
}

}  // namespace cccl_cache::daemon
