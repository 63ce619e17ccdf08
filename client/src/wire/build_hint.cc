// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/build_hint.h"

#include <algorithm>
#include <iterator>

namespace cccl_cache {
namespace {

bool Says(std::string_view log, std::string_view part) {
  return log.find(part) != std::string_view::npos;
}

/// Returns the name of the file that NVRTC could not open according to the log; empty if there is
/// none.
std::string_view MissingHeader(std::string_view log) {
  constexpr std::string_view kBefore = "open source file \"";
  const size_t begin = log.find(kBefore);
  if (begin == std::string_view::npos) return {};
  log.remove_prefix(begin + kBefore.size());
  return log.substr(0, log.find('"'));
}

/// Returns whether the name is that of a header of the C or C++ standard library.
bool IsHostHeader(std::string_view name) {
  constexpr std::string_view kOfC[] = {"assert.h", "limits.h", "math.h",   "stddef.h",
                                       "stdint.h", "stdio.h",  "stdlib.h", "string.h"};
  return name.find_first_of("./") == std::string_view::npos ||
         std::find(std::begin(kOfC), std::end(kOfC), name) != std::end(kOfC);
}

/// Returns whether the first line of the source is the name of a file, which NVRTC then quotes
/// below its error.
bool IsFileName(std::string_view log) {
  constexpr std::string_view kQuoted = "\n  ";
  const size_t begin = log.find(kQuoted);
  if (begin == std::string_view::npos || !Says(log.substr(0, begin), "(1): ")) return false;
  log.remove_prefix(begin + kQuoted.size());
  const std::string_view line = log.substr(0, log.find('\n'));
  const bool ends = line.ends_with(".cu") || line.ends_with(".cuh") || line.ends_with(".h") ||
                    line.ends_with(".cpp") || line.ends_with(".cc");
  return ends && line.find_first_of(" \"<") == std::string_view::npos;
}

}  // namespace

std::string_view HintFor(std::string_view log) {
  if (IsFileName(log)) return "the source is the name of a file: give the file's contents instead";
  const std::string_view header = MissingHeader(log);
  if (!header.empty() && IsHostHeader(header)) {
    return "NVRTC has no host library: device code includes <cuda/std/...> instead, such as "
           "<cuda/std/cstdint> for <cstdint>";
  }
  if (!header.empty() && Says(log, "no directories in search list")) {
    return "no directory was searched for headers: ask for CUDA's and CCCL's with "
           "append_toolchain_headers (toolchain_headers in Python), or add a directory with -I; if "
           "they were asked for, the toolchain has none: beside the wheel of NVRTC install those "
           "of "
           "cccl-cache[cuda13] or cccl-cache[cuda12]";
  }
  if (!header.empty()) {
    return "that header is not in the source's directory, the -I directories or the toolchain's "
           "headers: add its directory with -I";
  }
  // "is undefined" and "expected a" exclude logs with other errors: after text that NVRTC can't
  // parse, it also reports the following text as host code.
  if (Says(log, "in JIT mode") && !Says(log, "is undefined") && !Says(log, "expected a")) {
    return "NVRTC compiles device code only, without the host code that nvcc takes: mark functions "
           "with __device__ or __global__, and launch kernels from the program that loads them";
  }
  if (Says(log, "invalid value for --std")) {
    return "--std takes c++03, c++11, c++14, c++17, c++20 or c++23, as far as the toolchain knows "
           "it";
  }
  if (Says(log, "--gpu-architecture")) {
    return "the architecture is one that the toolchain has, written \"sm_90\", or \"compute_90\" "
           "for PTX alone: `cccl-cache-cli toolchains` lists them";
  }
  if (Says(log, "Unresolved extern function")) {
    return "to define it in another file, compile both with -rdc=true and link them, as "
           "`cccl-cache-cli link` does";
  }
  if (Says(log, "unrecognized input type")) {
    return "an input is no PTX, cubin, LTO-IR, fatbin, object or library, or is damaged; the "
           "message shows its name only if the request gives it one";
  }
  return {};
}

}  // namespace cccl_cache
