// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "daemon/compile/protocol/frame.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The functions of one libnvvm, as nvvm.h declares them; results are nvvmResult.
struct NvvmLibrary {
  using Program = struct NvvmProgramHandle*;
  static constexpr int kSuccess = 0;

  [[nodiscard]] static Result<NvvmLibrary> Open(const LibraryFiles& files);

  const char* (*error_string)(int result);
  int (*create_program)(Program*);
  int (*add_module)(Program, const char* contents, size_t size, const char* name);
  int (*lazy_add_module)(Program, const char* contents, size_t size, const char* name);
  int (*compile_program)(Program, int option_count, const char** options);
  int (*result_size)(Program, size_t*);
  int (*result)(Program, char*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
};

}  // namespace cccl_cache::daemon
