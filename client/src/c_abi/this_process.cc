// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/c_abi/this_process.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "cccl_cache/client_c.h"
#include "client/src/wire/build_reply.h"

namespace cccl_cache {
namespace {

// NVRTC reads the first variable only if the second one has a certain value.
constexpr std::array<std::string_view, 2> kVariables = {"NVRTC_APPEND_FLAGS", "NVRTCWIZ"};

void SetToolchain(cccl_cache_build_options* options) {
  const bool chosen = options->toolchain_id.size > 0 || options->toolchain_version.size > 0 ||
                      options->toolchain_major > 0;
  if (!chosen) options->toolchain_major = cccl_cache_loaded_cuda_major();
}

constexpr char kPriority[] = "CCCL_CACHE_PRIORITY";

void NoteWrongPriority(std::string_view text) {
  static std::atomic<bool> noted{false};
  if (noted.exchange(true)) return;
  const std::string line = "cccl-cache: " + std::string(kPriority) + " is \"" + std::string(text) +
                           "\", which counts as normal: interactive, normal or warm-up is "
                           "expected (said once in each process)\n";
  // A failed write to stderr can't be reported.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

constexpr char kVariable[] = "CCCL_CACHE_PROCESS_BYTES";
constexpr uint64_t kDefault = uint64_t{64} << 20;

}  // namespace

template <typename Program>
AsThisProcess<Program>::AsThisProcess(const Program& program,
                                      const cccl_cache_build_options& options)
    : program_(program), options_(options) {
  if (options.as_this_process == 0) return;
  SetToolchain(&options_);
  // If the working directory was removed, getcwd fails, and the field stays empty (unknown).
  if (options.working_directory.size == 0 &&
      getcwd(working_directory_.data(), working_directory_.size()) != nullptr) {
    options_.working_directory = {working_directory_.data(),
                                  std::strlen(working_directory_.data())};
  }
  if constexpr (std::is_same_v<Program, cccl_cache_nvrtc>) {
    if (program.environment_count > 0) return;
    for (size_t i = 0; i < kVariables.size(); ++i) {
      const char* const value = secure_getenv(kVariables[i].data());
      if (value == nullptr) return;
      values_[i] = value;  // copied, because the program may change its environment later
      variables_[i] = {{kVariables[i].data(), kVariables[i].size()},
                       {values_[i].data(), values_[i].size()}};
    }
    program_.environment = variables_.data();
    program_.environment_count = variables_.size();
  }
}

template class AsThisProcess<cccl_cache_nvrtc>;
template class AsThisProcess<cccl_cache_link>;
template class AsThisProcess<cccl_cache_nvvm>;

Expected<BuildPriority> PriorityOf(const cccl_cache_build_options& options) {
  const int given = WireNumber(options.priority);
  switch (given) {
    case CCCL_CACHE_PRIORITY_INTERACTIVE:
      return BuildPriority::kInteractive;
    case CCCL_CACHE_PRIORITY_NORMAL:
      return BuildPriority::kNormal;
    case CCCL_CACHE_PRIORITY_WARM_UP:
      return BuildPriority::kWarmUp;
    case CCCL_CACHE_PRIORITY_DEFAULT:
      break;
    default:
      return Error{CCCL_CACHE_INVALID_REQUEST,
                   std::to_string(given) + " is not a cccl_cache_priority"};
  }
  const char* const variable = secure_getenv(kPriority);
  const std::string_view text = variable == nullptr ? "" : variable;
  if (text == "interactive") return BuildPriority::kInteractive;
  if (text == "warm-up") return BuildPriority::kWarmUp;
  // Not an error: a program that does not know this variable must not fail because of it.
  if (text != "normal" && !text.empty()) NoteWrongPriority(text);
  return BuildPriority::kNormal;
}

Expected<uint64_t> MemoryLimit(uint64_t given) {
  if (given == CCCL_CACHE_OFF) return uint64_t{0};
  if (given != 0) return given;
  const char* variable = secure_getenv(kVariable);
  if (variable == nullptr) return uint64_t{kDefault};
  const std::string_view text = variable;
  if (text == "off") return uint64_t{0};
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return Error{CCCL_CACHE_INVALID_REQUEST, std::string(kVariable) + " is \"" + variable +
                                                 "\": a number of bytes, or off, is expected"};
  }
  return bytes;
}

}  // namespace cccl_cache
