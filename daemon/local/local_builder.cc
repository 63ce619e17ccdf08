// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/local_builder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "daemon/compile/protocol/job.h"
#include "daemon/compile/verdict.h"
#include "daemon/compile/zygote.h"
#include "daemon/core/coordinator/responder.h"
#include "daemon/core/model/result.h"
#include "daemon/core/plan/build_plan.h"
#include "daemon/worker/compilers/compiler_jobs.h"
#include "proto/options/options.h"

namespace cccl_cache::daemon {
namespace {

/// These values limit nothing: no caller waits so long, and no machine has so much memory. The
/// caller's own limits apply.
constexpr std::chrono::hours kNoTimeLimit{24 * 30};
constexpr uint64_t kNoMemoryLimit = uint64_t{1} << 46;

RegistryOptions ToolchainsOf(const Configuration& configuration, const std::string& packages) {
  const bool only_roots = configuration.toolchain_search == ToolchainSearch::kRoots;
  RegistryOptions options;
  options.places = only_roots ? GivenSearchPlaces(configuration.toolchain_root)
                              : SystemSearchPlaces(configuration.toolchain_root);
  if (!only_roots) options.places.packages = {packages};
  options.own_uid = geteuid();
  return options;
}

BuildLimits OneBuild() {
  BuildLimits limits;
  limits.compile.time = kNoTimeLimit;
  limits.compile.memory_bytes = kNoMemoryLimit;
  limits.shadow_check_every = 0;
  limits.preamble_bytes = 0;
  return limits;
}

Peer ThisUser() {
  Peer peer;
  peer.uid = geteuid();
  peer.gid = getegid();
  peer.reach = FileReach::kDaemons;
  return peer;
}

Status EnterWorkingDirectory(const std::string& directory) {
  if (directory.empty() || chdir(directory.c_str()) == 0) return Ok{};
  return Error{
      ErrorCode::kInvalidRequest,
      fmt::format("the working directory {} can't be entered: {}", directory, strerror(errno))};
}

/// Returns the position after the last option that names a header directory. Further directories
/// are inserted there, because after the very last option they could become its value, if it lacks
/// one.
std::vector<std::string>::iterator EndOfDirectories(std::vector<std::string>& options) {
  auto end = options.begin();
  for (auto option = options.begin(); option != options.end(); ++option) {
    const bool awaits_value = *option == "-I" || *option == "--include-path";
    const bool names = option->starts_with("-I") || option->starts_with("--include-path=");
    // As the last option, without a value, this one stands for the working directory.
    if (awaits_value && option + 1 == options.end()) *option = "--include-path=";
    if (awaits_value && option + 1 != options.end()) ++option;
    if (awaits_value || names) end = option + 1;
  }
  return end;
}

CompileJob JobFor(std::shared_ptr<const BuildRequest> request, ToolchainPtr toolchain) {
  CompileJob job;
  job.options = OptionsOf(*request);
  if (const auto* program = std::get_if<NvrtcProgram>(&request->program)) {
    job.program_name = program->name;
    std::vector<std::string> appended;
    for (const HeaderDirectory& headers : toolchain->headers) {
      if (program->append_toolchain_headers) appended.push_back("--include-path=" + headers.path);
    }
    job.options.insert(EndOfDirectories(job.options), appended.begin(), appended.end());
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

LocalBuilder::LocalBuilder(Parts parts)
    : facts_(std::move(parts.facts)),
      compiler_(std::move(parts.worker), {.forks_ahead = false}, [](std::string_view) {}),
      toolchains_(ToolchainsOf(parts.configuration, parts.packages), facts_, compiler_,
                  [](const ToolchainReport&) {}),
      files_({.own_places = {}, .own_uid = geteuid(), .own_view = FilesViewOfThisThread()}),
      coordinator_({.toolchains = toolchains_,
                    .compiler = compiler_,
                    .files = files_,
                    .tiers = {},
                    .statistics = statistics_,
                    .eviction_log = eviction_log_,
                    .observe = nullptr},
                   OneBuild()) {}

Result<BuildAnswer> LocalBuilder::Build(std::shared_ptr<const BuildRequest> request) {
  // Waits for the first search for toolchains. A build that starts before the search has ended
  // would cause a second one.
  [[maybe_unused]] const bool any = !toolchains_.Present().empty();
  if (NeedsPlainCompile(*request)) return BuildPlainly(std::move(request));
  std::promise<Result<BuildAnswer>> answer;
  coordinator_.Start(std::move(request), ThisUser(), [&answer](Result<BuildAnswer> result) {
    answer.set_value(std::move(result));
  });
  return answer.get_future().get();
}

Result<BuildAnswer> LocalBuilder::BuildPlainly(std::shared_ptr<const BuildRequest> request) {
  const auto select = [&] {
    return toolchains_.Select(request->toolchain, request->driver_version, request->kind());
  };
  std::optional<Result<ToolchainPtr>> toolchain = select();
  if (!toolchain) {
    std::promise<void> known;
    toolchains_.WhenKnown(request->toolchain, request->driver_version, request->kind(),
                          [&known] { known.set_value(); });
    known.get_future().wait();
    toolchain = select();
  }
  if (!toolchain) return KeepsChanging();
  if (!*toolchain) return toolchain->error();
  return CompilePlainly(std::move(request), **toolchain);
}

bool NeedsPlainCompile(const BuildRequest& request) {
  const auto parsed = ParseOptions(request.kind(), OptionsOf(request));
  const auto* refused = std::get_if<RefusedOption>(&parsed);
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
