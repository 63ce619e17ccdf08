// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/capability_probe.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

namespace cccl_cache::daemon {
namespace {

struct ProbedOption {
  const char* option;
  bool Capabilities::*capability;
};

/// --pch-messages came with the precompiled headers; unlike --pch it writes no file by itself.
constexpr std::array<ProbedOption, 3> kProbedOptions = {{
    {"-frandom-seed=cccl", &Capabilities::random_seed},
    {"--no-cache", &Capabilities::no_cache},
    {"--pch-messages=false", &Capabilities::pch},
}};

constexpr const char* kProgramName = "cccl_probe.cu";
constexpr std::chrono::seconds kProbeTime{30};

CompileJob EmptyProgram(const ToolchainPtr& toolchain, const std::string& option) {
  NvrtcProgram program;
  program.name = kProgramName;
  if (!option.empty()) program.options = {option};
  auto request = std::make_shared<BuildRequest>();
  request->program = program;
  CompileJob job;
  job.toolchain = toolchain;
  job.request = std::move(request);
  job.options = program.options;
  job.program_name = kProgramName;
  job.visible_working_directory = "/";
  return job;
}

}  // namespace

Result<Capabilities> CapabilityProbe::Probe(const ToolchainPtr& toolchain,
                                            const std::stop_token& stop) {
  const std::string record = "toolchain/probe/1/" + toolchain->nvrtc->id.Hex();
  if (const auto value = meta_.GetMeta(record)) {
    if (const auto known = Parse(*value)) return *known;
  }
  const Result<bool> works = Accepts(toolchain, "", stop);
  if (!works.ok()) return works.error();
  if (!*works) {
    return Error{ErrorCode::kUnavailable, "its NVRTC does not compile an empty program"};
  }
  Capabilities capabilities;
  std::string value;
  for (const ProbedOption& probed : kProbedOptions) {
    const Result<bool> accepted = Accepts(toolchain, probed.option, stop);
    if (!accepted.ok()) return accepted.error();
    capabilities.*probed.capability = *accepted;
    value.push_back(*accepted ? '1' : '0');
  }
  meta_.PutMeta(record, value);
  return capabilities;
}

std::optional<Capabilities> CapabilityProbe::Parse(std::string_view value) {
  Capabilities capabilities;
  if (value.size() != kProbedOptions.size()) return std::nullopt;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '0' && value[i] != '1') return std::nullopt;
    capabilities.*kProbedOptions[i].capability = value[i] == '1';
  }
  return capabilities;
}

Result<bool> CapabilityProbe::Accepts(const ToolchainPtr& toolchain, const std::string& option,
                                      const std::stop_token& stop) {
  const CompileLimits limits{.time = kProbeTime};
  const Result<CompileOutput> output =
      compiler_.Compile(EmptyProgram(toolchain, option), limits, stop);
  if (!output.ok()) {
    return Error{output.error().code,
                 fmt::format("its NVRTC could not be tried: {}", output.error().message)};
  }
  return output->native_code == 0;
}

}  // namespace cccl_cache::daemon
