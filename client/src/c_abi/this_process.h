// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits.h>

#include <array>
#include <cstdint>
#include <string>

#include "cccl_cache/client_c.h"
#include "cccl_cache/expected.h"
#include "proto/request.h"

namespace cccl_cache {

/// A build with the present additions of `as_this_process`. Its results live as long as the object
/// and its arguments.
template <typename Program>
class AsThisProcess {
 public:
  AsThisProcess(const Program& program, const cccl_cache_build_options& options);
  AsThisProcess(const AsThisProcess&) = delete;
  AsThisProcess& operator=(const AsThisProcess&) = delete;

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const cccl_cache_build_options& options() const { return options_; }

 private:
  Program program_;
  cccl_cache_build_options options_;
  std::array<std::string, 2> values_;
  std::array<cccl_cache_variable, 2> variables_ = {};
  std::array<char, PATH_MAX> working_directory_;
};

/// Returns the priority in the options, or else that in the environment. An invalid priority in the
/// environment counts as normal and writes a line to standard error once per process.
/// CCCL_CACHE_INVALID_REQUEST: the priority in the options is invalid.
Expected<BuildPriority> PriorityOf(const cccl_cache_build_options& options);

/// Returns the capacity in bytes of a client's result cache for `given` (cccl_cache_open_options);
/// 0: no cache. CCCL_CACHE_INVALID_REQUEST: the environment variable is not a number.
Expected<uint64_t> MemoryLimit(uint64_t given);

}  // namespace cccl_cache
