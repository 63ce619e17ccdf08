// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/model/compiler.h"
#include "daemon/core/model/toolchain.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Returns a job with canonical names and without header directories.
template <typename Program>
CompileJob JobOf(ToolchainPtr toolchain, Program program, std::vector<std::string> options) {
  auto request = std::make_shared<cccl_cache::BuildRequest>();
  request->program = std::move(program);
  CompileJob job;
  job.toolchain = std::move(toolchain);
  job.request = std::move(request);
  job.options = std::move(options);
  job.program_name = "/cccl-root-0/program.cu";
  job.visible_working_directory = "/cccl-work";
  return job;
}

/// Returns a job of CUDA C++.
inline CompileJob NvrtcJobOf(ToolchainPtr toolchain, std::string source,
                             std::vector<std::string> options) {
  cccl_cache::NvrtcProgram program;
  program.source = std::move(source);
  return JobOf(std::move(toolchain), std::move(program), std::move(options));
}

}  // namespace cccl_cache::daemon
