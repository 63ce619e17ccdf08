// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/compiler.h"

#include <algorithm>

namespace cccl_cache::daemon {
namespace {

// Maximum time limit that is used, so that the sum of it and the present time does not overflow.
constexpr std::chrono::hours kMaxLimit{24 * 365};

}  // namespace

CompileLimits CompileLimits::Started() const {
  CompileLimits started = *this;
  if (!deadline) {
    started.deadline =
        std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(time, kMaxLimit);
  }
  return started;
}

Result<std::shared_ptr<const Precompiled>> Compiler::Precompile(const CompileJob& /*job*/,
                                                                const CompileLimits& /*limits*/,
                                                                std::stop_token /*stop*/) {
  return Error{ErrorCode::kUnavailable, "this compiler keeps nothing that it has parsed"};
}

}  // namespace cccl_cache::daemon
