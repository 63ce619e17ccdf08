// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/plain_compile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <variant>

#include "daemon/compile/protocol/job.h"
#include "daemon/compile/verdict.h"
#include "daemon/compile/zygote.h"
#include "daemon/core/build/build.h"
#include "daemon/core/plan/build_plan.h"
#include "daemon/worker/compilers/compiler_jobs.h"
#include "proto/options.h"

namespace cccl_cache::daemon {
namespace {

using cccl_cache::BuildRequest;

Status EnterWorkingDirectory(const std::string& directory) {
  if (directory.empty() || chdir(directory.c_str()) == 0) return Ok{};
  return Error{
      ErrorCode::kInvalidRequest,
      fmt::format("the working directory {} can't be entered: {}", directory, strerror(errno))};
}

CompileJob JobFor(std::shared_ptr<const BuildRequest> request, ToolchainPtr toolchain) {
  CompileJob job;
  job.options = OptionsOf(*request);
  if (const auto* program = std::get_if<cccl_cache::NvrtcProgram>(&request->program)) {
    job.program_name = program->name;
    for (const HeaderDirectory& headers : toolchain->headers) {
      if (!program->append_toolchain_headers) break;
      job.options.push_back("--include-path=" + headers.path);
    }
  }
  job.request = std::move(request);
  job.toolchain = std::move(toolchain);
  return job;
}

Result<CompileOutput> Run(const CompileJob& job) {
  const Result<CompilerLibraries> libraries = CompilerLibraries::Load(HelloFor(*job.toolchain));
  if (!libraries) return libraries.error();
  const std::string encoded = EncodeJob(job).Joined();
  const Result<WorkerJob> decoded = DecodeJob(encoded);
  if (!decoded) return decoded.error();
  const auto start = std::chrono::steady_clock::now();
  WorkerReply reply = RunCompilerJob(*decoded, *libraries, PchUse::kNone);
  const auto took = std::chrono::steady_clock::now() - start;
  return OutputOf(std::move(reply), std::chrono::duration_cast<std::chrono::microseconds>(took));
}

}  // namespace

bool NeedsPlainCompile(const BuildRequest& request) {
  const auto parsed = cccl_cache::ParseOptions(request.kind(), OptionsOf(request));
  const auto* refused = std::get_if<cccl_cache::RefusedOption>(&parsed);
  return refused != nullptr && refused->taken_by_compiler;
}

Result<BuildAnswer> CompilePlainly(std::shared_ptr<const BuildRequest> request,
                                   ToolchainPtr toolchain) {
  if (Status texts = CheckTexts(*request); !texts) return texts.error();
  if (Status entered = EnterWorkingDirectory(request->working_directory); !entered) {
    return entered.error();
  }
  BuildPlan plan;
  plan.path_dependent = true;  // the names in the log are the client's
  plan.job = JobFor(std::move(request), std::move(toolchain));
  const Result<CompileOutput> output = Run(plan.job);
  if (!output) return output.error();
  BuildAnswer answer = AnswerOf(plan, *output);
  answer.compile_time = output->artifact->compile_time;
  return answer;
}

}  // namespace cccl_cache::daemon
