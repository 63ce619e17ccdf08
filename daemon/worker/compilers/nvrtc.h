// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "daemon/compile/protocol/frame.h"
#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {

/// The functions of one libnvrtc, as nvrtc.h declares them; results are nvrtcResult.
struct NvrtcLibrary {
  using Program = struct NvrtcProgramHandle*;
  static constexpr int kSuccess = 0;

  [[nodiscard]] static Result<NvrtcLibrary> Open(const LibraryFiles& files);

  /// Compiles a fixed text, so that the library does its one-time work now. The error is the
  /// compiler's own: an installation that can't compile this text can't compile anything.
  [[nodiscard]] Status WarmUp() const;

  const char* (*error_string)(int result);
  int (*create_program)(Program*, const char* source, const char* name, int header_count,
                        const char* const* headers, const char* const* header_names);
  int (*add_name_expression)(Program, const char* expression);
  int (*compile_program)(Program, int option_count, const char* const* options);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*lowered_name)(Program, const char* expression, const char** lowered);
  int (*ptx_size)(Program, size_t*);
  int (*ptx)(Program, char*);
  // Null where the release has none.
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
  int (*ltoir_size)(Program, size_t*);
  int (*ltoir)(Program, char*);
  int (*optixir_size)(Program, size_t*);
  int (*optixir)(Program, char*);
  int (*supported_arch_count)(int*);
  int (*supported_archs)(int*);
  int (*set_pch_heap_size)(size_t);
  int (*pch_create_status)(Program);
};

}  // namespace cccl_cache::daemon
