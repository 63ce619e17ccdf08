// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/compile/real_nvrtc.h"

#include <utility>

#include "tests/unit/compile/job_of.h"
#include "tests/unit/compile/real_toolchain.h"

namespace cccl_cache::daemon {

RealNvrtc::RealNvrtc()
    : toolchain_(RealToolchain()), compiler_(WORKER_PATH, {}, [](std::string_view) {}) {}

CompileJob RealNvrtc::Job(const std::string& source, std::vector<std::string> options) const {
  return NvrtcJobOf(toolchain_, source, std::move(options));
}

}  // namespace cccl_cache::daemon
