// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/core/coordinator_bench.h"

#include <catch2/catch.hpp>
#include <utility>

namespace cccl_cache::daemon::testing {

CoordinatorBench::CoordinatorBench(FakeCompiler::Behaviour behaviour, const Options& options)
    : compiler(std::move(behaviour)), disk(options.second_tier) {
  BuildLimits limits;
  limits.slots = options.slots;
  limits.compile.time = options.time;
  limits.disk_patience = options.disk_patience;
  limits.queued_per_uid = options.queued_per_uid;
  limits.shadow_check_every = options.shadow_check_every;
  coordinator = std::make_unique<BuildCoordinator>(
      BuildCoordinator::Parts{.toolchains = toolchains,
                              .compiler = compiler,
                              .files = files,
                              .tiers = {&memory, &disk},
                              .statistics = statistics,
                              .eviction_log = eviction_log,
                              .observe = {},
                              .report = [this](std::string_view text) { reported += text; },
                              .answered = options.answered,
                              .own = &own,
                              .sent_contents = sent,
                              .cluster = options.cluster},
      limits);
}

BuildAnswer CoordinatorBench::BuildOne(const std::string& source, const Peer& peer) {
  const Result<BuildAnswer> answer = Ask(MakeRequest(source), peer);
  INFO((answer.ok() ? "" : answer.error().message));
  REQUIRE(answer.ok());
  return *answer;
}

Result<BuildAnswer> CoordinatorBench::Ask(std::shared_ptr<cccl_cache::BuildRequest> request,
                                          const Peer& peer) {
  Answers answers;
  coordinator->Start(std::move(request), peer, answers.Collect());
  return answers.Wait(1).at(0);
}

Result<CompileOutput> SourceAsOutput(const CompileJob& job, int) {
  return Succeed(std::get<cccl_cache::NvrtcProgram>(job.request->program).source);
}

Result<CompileOutput> IncludesLocal(const CompileJob& job, int) {
  const std::string directory = job.program_name.starts_with('/')
                                    ? job.program_name.substr(0, job.program_name.rfind('/'))
                                    : job.visible_working_directory;
  const Result<FileAnswer> local = job.files->Ask(directory + "/local.h");
  if (!local) return local.error();
  if (local->kind == FileKind::kAbsent) return Succeed("nothing");
  return Succeed("from " + *local->contents);
}

std::string TextOf(const BuildAnswer& answer) { return answer.artifact->parts.at(0).bytes; }

std::shared_ptr<cccl_cache::BuildRequest> RequestIn(const std::string& directory) {
  auto request = MakeRequest("a");
  request->working_directory = directory;
  return request;
}

}  // namespace cccl_cache::daemon::testing
