// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cccl_cache/c/build.h"
#include "cccl_cache/c/link.h"
#include "cccl_cache/handle.h"

namespace cccl_cache {

enum class Outcome : uint8_t {
  kUnknown = CCCL_CACHE_OUTCOME_UNKNOWN,
  kHit = CCCL_CACHE_HIT,
  kBuilt = CCCL_CACHE_BUILT,
  kJoined = CCCL_CACHE_JOINED,
  kUncacheable = CCCL_CACHE_UNCACHEABLE,
  kFailed = CCCL_CACHE_FAILED,
  kLocal = CCCL_CACHE_LOCAL,
};

enum class Kind : uint8_t {
  kPtx = CCCL_CACHE_PTX,
  kCubin = CCCL_CACHE_CUBIN,
  kLtoIr = CCCL_CACHE_LTOIR,
  kOptixIr = CCCL_CACHE_OPTIXIR,
};

/// The name and contents of a header, or the name and value of an environment variable. The caller
/// keeps the contents alive.
struct NamedText {
  std::string name{};
  std::string_view contents{};
};

/// A CUDA C++ program for NVRTC. All views must be valid until the call returns.
struct NvrtcBuild {
  std::string_view source{};
  std::string name{};
  std::vector<std::string> options{};
  std::vector<NamedText> headers{};
  std::vector<std::string> name_expressions{};
  std::vector<NamedText> environment{};
  bool append_toolchain_headers = false;
};

struct LinkFile {
  cccl_cache_link_input_type type = CCCL_CACHE_INPUT_ANY;
  std::string name{};
  std::string_view contents{};
};

/// The inputs of a link with nvJitLink, in link order. All views must be valid until the call
/// returns.
struct LinkBuild {
  std::vector<LinkFile> inputs{};
  std::vector<std::string> options{};
};

struct NvvmFile {
  std::string name{};
  std::string_view contents{};
  bool lazy = false;
};

/// The modules of a libNVVM program, in the order in which they are added. All views must be valid
/// until the call returns.
struct NvvmBuild {
  std::vector<NvvmFile> modules{};
  std::vector<std::string> options{};
  bool add_libdevice = false;
};

/// The order of builds that wait for a compiler: see cccl_cache_priority.
enum class Priority : uint8_t {
  kDefault = CCCL_CACHE_PRIORITY_DEFAULT,
  kInteractive = CCCL_CACHE_PRIORITY_INTERACTIVE,
  kNormal = CCCL_CACHE_PRIORITY_NORMAL,
  kWarmUp = CCCL_CACHE_PRIORITY_WARM_UP,
};

/// What a build does if its result is not cached: see cccl_cache_on_miss.
enum class OnMiss : uint8_t {
  kWait = CCCL_CACHE_ON_MISS_WAIT,
  kRefuse = CCCL_CACHE_ON_MISS_REFUSE,
  kFinish = CCCL_CACHE_ON_MISS_FINISH,
};

/// The options of builds of all kinds.
struct BuildOptions {
  std::string toolchain_id{};  ///< set at most one of toolchain_id, _version and _major
  std::string toolchain_version{};
  uint32_t toolchain_major = 0;
  uint32_t driver_version = 0;           ///< result of cuDriverGetVersion; 0: no driver
  std::string working_directory{};       ///< absolute path; empty: unknown
  std::vector<Kind> wanted{};            ///< kinds of artifacts to receive; empty: all
  std::chrono::milliseconds timeout{0};  ///< zero: ten minutes for a build
  Priority priority = Priority::kDefault;
  OnMiss on_miss = OnMiss::kWait;
};

/// Converts the types above to the structs of the C interface. For the headers of this library
/// only, not for programs.
namespace c {

/// Returns the timeout in milliseconds, limited to the range of uint32_t without
/// CCCL_CACHE_NO_TIMEOUT.
inline uint32_t Milliseconds(std::chrono::milliseconds timeout) {
  constexpr int64_t kMax = int64_t{UINT32_MAX} - 1;
  return static_cast<uint32_t>(std::clamp<int64_t>(timeout.count(), 0, kMax));
}

inline std::vector<cccl_cache_bytes> All(const std::vector<std::string>& texts) {
  std::vector<cccl_cache_bytes> all;
  all.reserve(texts.size());
  for (const std::string& text : texts) all.push_back(Bytes(text));
  return all;
}

// Each overload converts its argument to a struct of the C interface, calls `then` with the struct,
// and returns the result of `then`.
template <typename Then>
std::invoke_result_t<Then, const cccl_cache_nvrtc&> With(const NvrtcBuild& build, Then then) {
  const std::vector<cccl_cache_bytes> flags = All(build.options);
  const std::vector<cccl_cache_bytes> expressions = All(build.name_expressions);
  std::vector<cccl_cache_header> headers;
  for (const NamedText& header : build.headers) {
    headers.push_back({Bytes(header.name), Bytes(header.contents)});
  }
  std::vector<cccl_cache_variable> variables;
  for (const NamedText& variable : build.environment) {
    variables.push_back({Bytes(variable.name), Bytes(variable.contents)});
  }
  cccl_cache_nvrtc program = {};
  program.struct_size = sizeof(program);
  program.source = Bytes(build.source);
  program.name = Bytes(build.name);
  program.options = flags.data();
  program.option_count = flags.size();
  program.headers = headers.data();
  program.header_count = headers.size();
  program.name_expressions = expressions.data();
  program.name_expression_count = expressions.size();
  program.environment = variables.data();
  program.environment_count = variables.size();
  program.append_toolchain_headers = build.append_toolchain_headers ? 1 : 0;
  return then(program);
}

template <typename Then>
std::invoke_result_t<Then, const cccl_cache_link&> With(const LinkBuild& build, Then then) {
  const std::vector<cccl_cache_bytes> flags = All(build.options);
  std::vector<cccl_cache_link_input> inputs;
  for (const LinkFile& input : build.inputs) {
    inputs.push_back({input.type, Bytes(input.name), Bytes(input.contents)});
  }
  const cccl_cache_link program = {sizeof(program), inputs.data(), inputs.size(), flags.data(),
                                   flags.size()};
  return then(program);
}

template <typename Then>
std::invoke_result_t<Then, const cccl_cache_nvvm&> With(const NvvmBuild& build, Then then) {
  const std::vector<cccl_cache_bytes> flags = All(build.options);
  std::vector<cccl_cache_nvvm_module> modules;
  for (const NvvmFile& file : build.modules) {
    modules.push_back({Bytes(file.name), Bytes(file.contents), file.lazy ? 1 : 0});
  }
  const cccl_cache_nvvm program = {sizeof(program), modules.data(), modules.size(),
                                   flags.data(),    flags.size(),   build.add_libdevice ? 1 : 0};
  return then(program);
}

template <typename Then>
std::invoke_result_t<Then, const cccl_cache_build_options&> With(const BuildOptions& given,
                                                                 Then then) {
  std::vector<cccl_cache_artifact_kind> wanted;
  for (const Kind kind : given.wanted)
    wanted.push_back(static_cast<cccl_cache_artifact_kind>(kind));
  cccl_cache_build_options options = {};
  options.struct_size = sizeof(options);
  options.toolchain_id = Bytes(given.toolchain_id);
  options.toolchain_version = Bytes(given.toolchain_version);
  options.toolchain_major = given.toolchain_major;
  options.driver_version = given.driver_version;
  options.working_directory = Bytes(given.working_directory);
  options.wanted = wanted.data();
  options.wanted_count = wanted.size();
  options.timeout_ms = Milliseconds(given.timeout);
  options.priority = static_cast<cccl_cache_priority>(given.priority);
  options.on_miss = static_cast<cccl_cache_on_miss>(given.on_miss);
  return then(options);
}

}  // namespace c

}  // namespace cccl_cache
