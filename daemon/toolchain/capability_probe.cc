// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/capability_probe.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <memory>
#include <utility>

namespace cccl_cache::daemon {
namespace {

struct ProbedOption {
  const char* option;
  bool Capabilities::*capability;
};

/// Whether NVRTC accepts --pch is tested with --pch-messages, which exists in the same releases but
/// makes NVRTC write no file.
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

Error TookTooLong(std::chrono::milliseconds try_again) {
  return {
      ErrorCode::kTimedOut,
      fmt::format("its NVRTC did not compile an empty program in {} s, as on a machine under "
                  "load: the daemon tries it again, {} s later at the earliest",
                  kProbeTime.count(), std::chrono::ceil<std::chrono::seconds>(try_again).count())};
}

std::string OptionsRecord(const std::string& nvrtc) { return "toolchain/probe/1/" + nvrtc; }
std::string ArchitecturesRecord(const std::string& nvrtc) {
  return "toolchain/architectures/1/" + nvrtc;
}

bool ParseOptions(std::string_view value, Capabilities* capabilities) {
  if (value.size() != kProbedOptions.size()) return false;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '0' && value[i] != '1') return false;
    capabilities->*kProbedOptions[i].capability = value[i] == '1';
  }
  return true;
}

bool ParseArchitectures(std::string_view value, Capabilities* capabilities) {
  const char* at = value.data();
  const char* const end = at + value.size();
  while (at != end) {
    uint32_t architecture = 0;
    const auto [after, error] = std::from_chars(at, end, architecture);
    if (error != std::errc() || after == end || *after != ' ') return false;
    capabilities->architectures.push_back(architecture);
    at = after + 1;
  }
  return true;
}

}  // namespace

Result<Capabilities> CapabilityProbe::Probe(const ToolchainPtr& toolchain,
                                            const std::stop_token& stop) {
  const std::string nvrtc = toolchain->nvrtc->id.Hex();
  if (auto known = Stored(nvrtc)) return *std::move(known);
  std::erase_if(late_, [&](const auto& each) { return Clock::now() - each.second >= try_again_; });
  if (late_.contains(nvrtc)) return TookTooLong(try_again_);
  Result<CompileOutput> empty = Compile(toolchain, "", stop);
  if (!empty.ok()) return empty.error();
  if (empty->native_code != 0) {
    return Error{ErrorCode::kUnavailable, "its NVRTC does not compile an empty program"};
  }
  Capabilities capabilities;
  capabilities.architectures = std::move(empty->architectures);
  std::string options;
  for (const ProbedOption& probed : kProbedOptions) {
    const Result<CompileOutput> output = Compile(toolchain, probed.option, stop);
    if (!output.ok()) return output.error();
    const bool accepted = output->native_code == 0;
    capabilities.*probed.capability = accepted;
    options.push_back(accepted ? '1' : '0');
  }
  std::string architectures;
  for (const uint32_t each : capabilities.architectures) architectures += fmt::format("{} ", each);
  meta_.PutMeta(OptionsRecord(nvrtc), options);
  meta_.PutMeta(ArchitecturesRecord(nvrtc), architectures);
  return capabilities;
}

std::optional<Capabilities> CapabilityProbe::Stored(const std::string& nvrtc) const {
  Capabilities capabilities;
  const auto options = meta_.GetMeta(OptionsRecord(nvrtc));
  if (!options || !ParseOptions(*options, &capabilities)) return std::nullopt;
  const auto architectures = meta_.GetMeta(ArchitecturesRecord(nvrtc));
  if (!architectures || !ParseArchitectures(*architectures, &capabilities)) return std::nullopt;
  return capabilities;
}

Result<CompileOutput> CapabilityProbe::Compile(const ToolchainPtr& toolchain,
                                               const std::string& option,
                                               const std::stop_token& stop) {
  const CompileLimits limits{.time = kProbeTime};
  Result<CompileOutput> output = compiler_.Compile(EmptyProgram(toolchain, option), limits, stop);
  if (output.ok()) return output;
  if (output.error().code == ErrorCode::kTimedOut) {
    late_[toolchain->nvrtc->id.Hex()] = Clock::now();
    return TookTooLong(try_again_);
  }
  return Error{output.error().code,
               fmt::format("its NVRTC could not be tried: {}", output.error().message)};
}

}  // namespace cccl_cache::daemon
