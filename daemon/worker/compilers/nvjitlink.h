// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/compile/protocol/frame.h"
#include "daemon/core/model/result.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// The functions of one libnvJitLink under their plain names, which every release exports beside
/// the versioned ones. They are declared as in nvJitLink.h; results are nvJitLinkResult.
struct NvJitLinkLibrary {
  using Handle = struct NvJitLinkHandle*;
  static constexpr int kSuccess = 0;

  [[nodiscard]] static Result<NvJitLinkLibrary> Open(const LibraryFiles& files);

  /// Returns the name of a result in nvJitLink.h: the library has no function for that.
  [[nodiscard]] static const char* ResultName(int result);

  int (*create)(Handle*, uint32_t option_count, const char** options);
  int (*add_data)(Handle, int type, const void* data, size_t size, const char* name);
  int (*complete)(Handle);
  int (*cubin_size)(Handle, size_t*);
  int (*cubin)(Handle, void*);
  int (*ptx_size)(Handle, size_t*);
  int (*ptx)(Handle, char*);
  int (*error_log_size)(Handle, size_t*);
  int (*error_log)(Handle, char*);
  int (*info_log_size)(Handle, size_t*);
  int (*info_log)(Handle, char*);
};

/// Returns the type of a link input, recognised by its first bytes; kUnspecified if they match
/// none.
[[nodiscard]] LinkInputType LinkInputTypeOf(std::string_view contents);

}  // namespace cccl_cache::daemon
