// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/protocol/job.h"
#include "daemon/core/model/result.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// The functions of a loaded libnvrtc, as nvrtc.h declares them. An `int` result is an nvrtcResult.
struct NvrtcLibrary {
  using Program = struct NvrtcProgramHandle*;
  static constexpr int kSuccess = 0;

  [[nodiscard]] static Result<NvrtcLibrary> Open(const LibraryFiles& files);

  /// Compiles a small fixed program, so that the library initializes itself before a zygote forks.
  /// Returns the compiler's error. After an error this toolchain can't compile any program.
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
  // Null if this release of NVRTC lacks the function.
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
  int (*install_bundled_headers)(const char* directory, unsigned flags, const char** log);
};

/// The functions of a loaded libnvJitLink, as nvJitLink.h declares them. An `int` result is an
/// nvJitLinkResult. Releases before 12.3 export the functions only under names with a version.
struct NvJitLinkLibrary {
  using Handle = struct NvJitLinkHandle*;
  static constexpr int kSuccess = 0;

  [[nodiscard]] static Result<NvJitLinkLibrary> Open(const LibraryFiles& files);

  /// Returns the name of a result in nvJitLink.h. The library itself has no such function.
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

/// Returns the type of a link input by its first bytes; kUnspecified if they match no type.
[[nodiscard]] LinkInputType LinkInputTypeOf(std::string_view contents);

/// The functions of a loaded libnvvm, as nvvm.h declares them. An `int` result is an nvvmResult.
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

/// The loaded compilers of a toolchain. A member is empty if the toolchain lacks the library.
struct CompilerLibraries {
  std::optional<NvrtcLibrary> nvrtc;
  std::optional<NvJitLinkLibrary> nvjitlink;
  std::optional<NvvmLibrary> nvvm;
  std::string libdevice;  ///< contents of the file; empty if there is none

  /// Loads all libraries of the toolchain. The error message has the path of the file that failed.
  [[nodiscard]] static Result<CompilerLibraries> Load(const ZygoteHello& hello);
};

/// Each of these functions runs one job. It calls the library's functions in the order in which a
/// client would call them without the daemon. If the library fails, the reply has its result code
/// and log. The memory that the library allocated is not freed, because the process ends after the
/// job.
[[nodiscard]] WorkerReply RunNvrtcJob(const WorkerJob& job, const NvrtcLibrary& nvrtc,
                                      PchUse pch = PchUse::kNone);
[[nodiscard]] WorkerReply RunLinkJob(const WorkerJob& job, const NvJitLinkLibrary& nvjitlink);
[[nodiscard]] WorkerReply RunNvvmJob(const WorkerJob& job, const NvvmLibrary& nvvm,
                                     const std::string& libdevice);

/// Runs the function above for the job's kind of build. If the toolchain lacks the library, the
/// reply is an internal error: the daemon should have chosen another toolchain.
[[nodiscard]] WorkerReply RunCompilerJob(const WorkerJob& job, const CompilerLibraries& libraries,
                                         PchUse pch);

}  // namespace cccl_cache::daemon
