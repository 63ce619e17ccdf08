// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "daemon/core/closure/closure.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// An input that the compiler died on twice, each time by its own signal. Immutable.
struct Quarantined {
  Error error;      ///< of the second time
  Closure closure;  ///< what the compiler had been answered by then: the files that it died on

  /// Whether the compiler would be given these files of its user again. Blocks as long as the disk
  /// does.
  [[nodiscard]] bool IsStillSo(RequesterFiles& files) const {
    return FirstUntrue(closure, files, ClosureOf::kRequester) == closure.entries.size();
  }
  /// What is answered instead of trying it again.
  [[nodiscard]] Error NotTriedAgain() const {
    Error answer = error;
    answer.message += "; it died twice on this input lately, so it was not tried again";
    return answer;
  }
};
using QuarantinedPtr = std::shared_ptr<const Quarantined>;

}  // namespace cccl_cache::daemon
