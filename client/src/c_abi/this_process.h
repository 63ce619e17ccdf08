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

/// A program and its options, with the values of this process filled in if the option
/// `as_this_process` is set. Both results are valid as long as this object and the arguments of its
/// constructor.
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

/// Returns the priority from the options. If they have the default, returns the priority from the
/// environment variable. An invalid value of the variable counts as normal; a line about it is
/// written to standard error once per process. CCCL_CACHE_INVALID_REQUEST: the priority in the
/// options is invalid.
Expected<BuildPriority> PriorityOf(const cccl_cache_build_options& options);

/// Returns the capacity of a client's result cache in bytes; 0: no cache. `given` is
/// process_cache_bytes of cccl_cache_open_options. CCCL_CACHE_INVALID_REQUEST: the environment
/// variable has an invalid value.
Expected<uint64_t> MemoryLimit(uint64_t given);

}  // namespace cccl_cache
