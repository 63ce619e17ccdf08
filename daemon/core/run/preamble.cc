// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/preamble.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/core/closure/source_scan.h"
#include "daemon/core/plan/roots.h"
#include "proto/fingerprint.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::string_view kPreambleName = "cccl-cached-preamble.cu";

/// This option differs for each source. It affects code generation, not parsing.
constexpr std::string_view kSeed = "-frandom-seed=";
bool IsSeed(std::string_view option) { return option.starts_with(kSeed); }

bool IsLtoIr(std::string_view option) { return option.starts_with("--dlink-time-opt"); }
bool IsOptixIr(std::string_view option) { return option.starts_with("--optix-ir"); }
bool IsIntermediateCode(std::string_view option) { return IsLtoIr(option) || IsOptixIr(option); }

/// Returns whether an option makes the output differ if the preamble was parsed in advance.
/// OptiX-IR shows the order of template instantiations, because it is written before the optimizer
/// has finished. Debug information shows their names (docs/internals/decisions/0012).
bool ShowsParsing(std::string_view option) {
  return IsOptixIr(option) || option == "--device-debug";
}

bool MakesLtoIr(const CompileJob& job) { return std::ranges::any_of(job.options, IsLtoIr); }

/// Returns the options with which the preamble is parsed. For LTO-IR these are the options for PTX,
/// because the compiler accepts such a preamble for LTO-IR too. So one preamble serves both the
/// compile to LTO-IR and the compile to PTX that is searched.
std::vector<std::string> OptionsToParse(const CompileJob& job) {
  return MakesLtoIr(job) ? OptionsToPtx(job.options) : job.options;
}

/// Returns the directory part of a name, with the slash at its end. Empty if there is no slash.
std::string_view DirectoryOf(std::string_view name) { return name.substr(0, name.rfind('/') + 1); }

std::string_view BaseNameOf(std::string_view name) { return name.substr(name.rfind('/') + 1); }

/// Returns whether the program is in one of the toolchain's own directories. A closure covers such
/// a directory as a whole and does not list the file names, so a preamble that includes the program
/// itself could not be detected.
bool LiesInToolchain(const CompileJob& job) {
  const std::string_view directory = DirectoryOf(job.program_name);
  const auto lies_in = [&](const std::string& other) { return directory.starts_with(other + "/"); };
  const auto lies_in_headers = [&](const HeaderDirectory& headers) {
    return lies_in(headers.path) || std::ranges::any_of(headers.aliases, lies_in);
  };
  return std::ranges::any_of(job.toolchain->headers, lies_in_headers) ||
         std::ranges::any_of(job.mounts, [&](const Mount& mount) {
           return mount.trusted && lies_in(mount.visible);
         });
}

/// `view` is that of BuildPlan::View or BuildPlan::ViewBesideProgram.
Digest KeyOf(const BuildPlan& plan, const Digest& view, std::string_view text) {
  const CompileJob& job = plan.job;
  Hasher hasher;
  hasher.AppendValue("toolchain", job.toolchain->serial);
  hasher.AppendValue("view", view.View());
  for (const std::string& option : OptionsToParse(job)) {
    if (!IsSeed(option)) hasher.AppendValue("option", option);
  }
  hasher.AppendValue("program directory", DirectoryOf(job.program_name));
  hasher.AppendValue("visible working directory", job.visible_working_directory);
  for (const Mount& mount : job.mounts) hasher.AppendValue("mount", mount.visible);
  for (const VisibleRoot& root : plan.visible_roots) {
    hasher.AppendValue("root", root.visible);
    hasher.AppendValue("number", root.number);
  }
  const auto& program = std::get<NvrtcProgram>(job.request->program);
  if (program.header_set != nullptr) {
    hasher.AppendValue("header set", program.header_set->digest.View());
  }
  for (const auto& header : program.headers) {
    hasher.AppendValue("header", header.name);
    hasher.AppendValue("contents", header.contents);
  }
  hasher.AppendValue("preamble", text);
  return hasher.Finish();
}

}  // namespace

std::optional<Preamble> PreambleOf(const BuildPlan& plan) {
  const auto* program = std::get_if<NvrtcProgram>(&plan.job.request->program);
  if (program == nullptr || !plan.job.toolchain->capabilities.pch) return std::nullopt;
  if (!plan.uncacheable_reason.empty() || LiesInToolchain(plan.job)) return std::nullopt;
  if (plan.base_name_token || plan.function_token) return std::nullopt;
  if (std::ranges::any_of(plan.job.options, ShowsParsing)) return std::nullopt;
  if (MakesLtoIr(plan.job) && !plan.job.toolchain->nvjitlink) return std::nullopt;
  const size_t length = PreambleLength(program->source);
  if (length == 0) return std::nullopt;
  const std::string_view text = std::string_view(program->source).substr(0, length);
  return Preamble{.key = KeyOf(plan, plan.ViewBesideProgram(), text),
                  .key_in_directory = KeyOf(plan, plan.View(), text),
                  .length = length};
}

bool MakesIntermediateCode(const CompileJob& job) {
  return std::ranges::any_of(job.options, IsIntermediateCode);
}

std::vector<std::string> OptionsToPtx(std::vector<std::string> options) {
  constexpr std::string_view kCubin = "--gpu-architecture=sm_";
  std::erase_if(options, IsIntermediateCode);
  options.emplace_back("--relocatable-device-code=true");
  for (std::string& option : options) {
    if (option.starts_with(kCubin)) {
      option = "--gpu-architecture=compute_" + option.substr(kCubin.size());
    }
  }
  return options;
}

CompileJob PreambleJob(const CompileJob& job, const Preamble& preamble) {
  const auto& program = std::get<NvrtcProgram>(job.request->program);
  auto request = std::make_shared<BuildRequest>();
  request->program = NvrtcProgram{.source = program.source.substr(0, preamble.length),
                                  .headers = program.headers,
                                  .header_set = program.header_set};
  CompileJob result = job;
  result.request = std::move(request);
  result.options = OptionsToParse(job);
  // The preamble may be used for builds with other seeds, because its key does not cover the seed.
  // So the client's seed is replaced by a fixed one.
  for (std::string& option : result.options) {
    if (IsSeed(option)) option = std::string(kSeed).append(kPreambleName);
  }
  result.program_name = std::string(DirectoryOf(job.program_name)).append(kPreambleName);
  return result;
}

uint64_t BytesOf(const CompileJob& preamble_job, const BuildPlan& plan) {
  uint64_t bytes = 0;
  const auto add = [&](std::string_view text) { bytes += sizeof(std::string) + text.size(); };
  const auto& program = std::get<NvrtcProgram>(preamble_job.request->program);
  add(program.source);
  program.ForEachHeader([&](std::string_view name, std::string_view contents) {
    add(name);
    add(contents);
  });
  for (const std::string& option : preamble_job.options) add(option);
  for (const Mount& mount : preamble_job.mounts) {
    add(mount.visible);
    add(mount.target);
  }
  for (const std::string& root : plan.directories.roots) add(root);
  for (const VisibleRoot& root : plan.visible_roots) add(root.visible);
  return bytes;
}

bool ShowsPreamble(const Artifact& artifact) {
  static const ShownText kShown(kPreambleName);
  return artifact.log.find(kPreambleName) != std::string::npos || kShown.In(artifact);
}

bool ShowsMangledNames(const Artifact& artifact) {
  // The pattern is not just "_ZN", because debug information always contains mangled names.
  constexpr std::string_view kMangled = "::_ZN";
  static const ShownText kShown(kMangled);
  return artifact.log.find(kMangled) != std::string::npos || kShown.InStrings(artifact);
}

bool ReadsOwnDirectory(const Closure& closure) {
  return std::ranges::any_of(closure.entries, [](const ClosureEntry& entry) {
    return entry.name.root == 0 && entry.kind != FileKind::kAbsent;
  });
}

bool NamesProgram(const Closure& closure, const CompileJob& job) {
  const std::string_view own = BaseNameOf(job.program_name);
  return std::ranges::any_of(closure.entries, [&](const ClosureEntry& entry) {
    if (entry.name.root == kToolchainRoot) return false;
    return BaseNameOf(entry.name.below) == own;
  });
}

}  // namespace cccl_cache::daemon
