// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/c/build.h"
#include "cccl_cache/c/link.h"

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

/// A header or a variable: a name with contents, which the caller keeps alive.
struct NamedText {
  std::string name{};
  std::string_view contents{};
};

/// CUDA C++ for NVRTC. Contents must outlive the call.
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

/// A link with nvJitLink, inputs in link order. Contents must outlive the call.
struct LinkBuild {
  std::vector<LinkFile> inputs{};
  std::vector<std::string> options{};
};

struct NvvmFile {
  std::string name{};
  std::string_view contents{};
  bool lazy = false;
};

/// A libNVVM program, modules in order. Contents must outlive the call.
struct NvvmBuild {
  std::vector<NvvmFile> modules{};
  std::vector<std::string> options{};
  bool add_libdevice = false;
};

/// Which of the builds that wait for a compiler goes first: see cccl_cache_priority.
enum class Priority : uint8_t {
  kDefault = CCCL_CACHE_PRIORITY_DEFAULT,
  kInteractive = CCCL_CACHE_PRIORITY_INTERACTIVE,
  kNormal = CCCL_CACHE_PRIORITY_NORMAL,
  kWarmUp = CCCL_CACHE_PRIORITY_WARM_UP,
};

/// The action of a build that has to be compiled: see cccl_cache_on_miss.
enum class OnMiss : uint8_t {
  kWait = CCCL_CACHE_ON_MISS_WAIT,
  kRefuse = CCCL_CACHE_ON_MISS_REFUSE,
  kFinish = CCCL_CACHE_ON_MISS_FINISH,
};

/// The options that all kinds of builds share.
struct BuildOptions {
  std::string toolchain_id{};  ///< set at most one of the three
  std::string toolchain_version{};
  uint32_t toolchain_major = 0;
  uint32_t driver_version = 0;           ///< as cuDriverGetVersion returns it; 0: no driver
  std::string working_directory{};       ///< absolute, or empty: unknown
  std::vector<Kind> wanted{};            ///< kinds to receive; none: all
  std::chrono::milliseconds timeout{0};  ///< zero: the library's default
  Priority priority = Priority::kDefault;
  OnMiss on_miss = OnMiss::kWait;
};

}  // namespace cccl_cache
