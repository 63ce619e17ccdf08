// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/disk_reads.h"

#include <fmt/format.h>

namespace cccl_cache::daemon {

Error DiskHangs(std::chrono::milliseconds limit) {
  return Error{
      ErrorCode::kTimedOut,
      fmt::format("the daemon's disk did not answer within {} s: does the file system hang "
                  "that its state directory lies on?",
                  std::chrono::ceil<std::chrono::seconds>(limit).count())};
}

}  // namespace cccl_cache::daemon
