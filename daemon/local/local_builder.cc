// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/local_builder.h"

#include <unistd.h>

#include <chrono>
#include <future>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/core/model/result.h"
#include "daemon/local/plain_compile.h"

namespace cccl_cache::daemon {
namespace {

/// Longer than anybody waits, and more than any machine has: the caller's own bounds count.
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
  limits.slots = 1;
  limits.preamble_bytes = 0;
  return limits;
}

Peer ThisUser() {
  Peer peer;
  peer.uid = geteuid();
  peer.gid = getegid();
  return peer;
}

}  // namespace

LocalBuilder::LocalBuilder(Parts parts)
    : identities_(std::move(parts.identities)),
      compiler_(std::move(parts.worker), {.forks_ahead = false}, [](std::string_view) {}),
      toolchains_(ToolchainsOf(parts.configuration, parts.packages), identities_, compiler_,
                  [](const ToolchainReport&) {}),
      files_({.own_directories = {},
              .own_uid = geteuid(),
              .own_view = cccl_cache::FilesViewOfThisThread()}),
      coordinator_({.toolchains = toolchains_,
                    .compiler = compiler_,
                    .files = files_,
                    .tiers = {},
                    .statistics = statistics_,
                    .departures = departures_,
                    .observe = nullptr},
                   OneBuild()) {}

Result<BuildAnswer> LocalBuilder::Build(std::shared_ptr<const cccl_cache::BuildRequest> request) {
  // The first look at the toolchains: a build that asks before has them looked at twice.
  [[maybe_unused]] const bool any = !toolchains_.Present().empty();
  if (NeedsPlainCompile(*request)) return BuildPlainly(std::move(request));
  std::promise<Result<BuildAnswer>> answer;
  coordinator_.Build(std::move(request), ThisUser(), [&answer](Result<BuildAnswer> result) {
    answer.set_value(std::move(result));
  });
  return answer.get_future().get();
}

Result<BuildAnswer> LocalBuilder::BuildPlainly(
    std::shared_ptr<const cccl_cache::BuildRequest> request) {
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
  if (!toolchain) return Unsettled();
  if (!*toolchain) return toolchain->error();
  return CompilePlainly(std::move(request), **toolchain);
}

}  // namespace cccl_cache::daemon
