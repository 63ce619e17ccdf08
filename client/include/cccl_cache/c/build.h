/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* Builds of CUDA C++, and the types that all builds share. Part of client_c.h. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cccl_cache_result cccl_cache_result;

typedef enum cccl_cache_outcome {
  CCCL_CACHE_OUTCOME_UNKNOWN = 0,
  CCCL_CACHE_HIT = 1,
  CCCL_CACHE_BUILT = 2,
  CCCL_CACHE_JOINED = 3,      /* waited for another caller's compile of the same build */
  CCCL_CACHE_UNCACHEABLE = 4, /* compiled and not cached: `reason` says why */
  CCCL_CACHE_FAILED = 5,      /* does not compile: see log and native_code */
  CCCL_CACHE_LOCAL = 6        /* compiled without the daemon: `reason` says why */
} cccl_cache_outcome;

typedef enum cccl_cache_tier {
  CCCL_CACHE_TIER_NONE = 0,
  CCCL_CACHE_TIER_MEMORY = 1,
  CCCL_CACHE_TIER_DISK = 2,
  CCCL_CACHE_TIER_REMOTE = 3,
  CCCL_CACHE_TIER_ARENA = 4,
  CCCL_CACHE_TIER_PROCESS = 5, /* this client's own cache: the daemon was not asked */
  CCCL_CACHE_TIER_SHELF = 6    /* a directory of signed snapshots */
} cccl_cache_tier;

typedef enum cccl_cache_artifact_kind {
  CCCL_CACHE_PTX = 1,
  CCCL_CACHE_CUBIN = 2,
  CCCL_CACHE_LTOIR = 3,
  CCCL_CACHE_OPTIXIR = 4
} cccl_cache_artifact_kind;

/* Returns "hit", "built", "joined", "uncacheable", "failed" or "local"; never NULL. */
CCCL_CACHE_API const char* cccl_cache_outcome_name(cccl_cache_outcome outcome);
/* Returns "memory", "disk", "remote", "arena" or "process"; "" if the build was compiled. */
CCCL_CACHE_API const char* cccl_cache_tier_name(cccl_cache_tier tier);
/* Returns "ptx", "cubin", "ltoir" or "optixir". */
CCCL_CACHE_API const char* cccl_cache_artifact_kind_name(cccl_cache_artifact_kind kind);

/* The order of builds that wait for a compiler. Never part of the key. */
typedef enum cccl_cache_priority {
  CCCL_CACHE_PRIORITY_DEFAULT = 0,     /* that of $CCCL_CACHE_PRIORITY ("interactive", "normal" or
                                          "warm-up"), else normal; another value there is told once
                                          on standard error */
  CCCL_CACHE_PRIORITY_INTERACTIVE = 1, /* before this user's other builds */
  CCCL_CACHE_PRIORITY_NORMAL = 2,
  CCCL_CACHE_PRIORITY_WARM_UP = 3 /* after all others, those of other users as well */
} cccl_cache_priority;

/* The action of a build that has to be compiled. Never part of the key. */
typedef enum cccl_cache_on_miss {
  CCCL_CACHE_ON_MISS_WAIT = 0, /* it waits; when the last call that waits for a compile ends, the
                                  compile is cancelled */
  CCCL_CACHE_ON_MISS_REFUSE =
      1,                        /* CCCL_CACHE_NOT_CACHED: nothing is compiled, neither by the daemon
                                   nor without it, and no other call's compile is waited for */
  CCCL_CACHE_ON_MISS_FINISH = 2 /* it waits; the daemon finishes the compile also if the call ends
                                   before, at timeout_ms, so that a later one is a hit. A build
                                   whose files are sent is cancelled all the same */
} cccl_cache_on_miss;

typedef struct cccl_cache_build_options {
  size_t struct_size;
  /* Set at most one of the three. None: the newest toolchain whose PTX the driver accepts, else the
   * newest whose cubins it accepts. */
  cccl_cache_bytes toolchain_id; /* hexadecimal, or an unambiguous prefix of at least 8 digits */
  cccl_cache_bytes toolchain_version; /* "12.9" */
  uint32_t toolchain_major;           /* 12 */
  uint32_t driver_version;            /* as cuDriverGetVersion returns it (13000); 0: no driver */
  cccl_cache_bytes
      working_directory; /* absolute: where relative names are looked up; empty: unknown */
  const cccl_cache_artifact_kind* wanted; /* kinds of artifacts to receive; none: all */
  size_t wanted_count;
  uint32_t timeout_ms; /* 0: ten minutes */
  /* Not 0: fields that are left empty take the values that a compiler in this process would use at
   * the time of the call. The toolchain is that of cccl_cache_loaded_cuda_major(), if one is
   * loaded. The working directory is that of the process. NVRTC's environment holds the process's
   * NVRTC_APPEND_FLAGS and NVRTCWIZ. */
  uint64_t as_this_process;
  cccl_cache_priority priority;
  cccl_cache_on_miss on_miss;
} cccl_cache_build_options;

typedef struct cccl_cache_header {
  cccl_cache_bytes name;
  cccl_cache_bytes contents;
} cccl_cache_header;

typedef struct cccl_cache_variable {
  cccl_cache_bytes name;
  cccl_cache_bytes value;
} cccl_cache_variable;

/* CUDA C++ for NVRTC, sent exactly as given: no default name, no default directories. */
typedef struct cccl_cache_nvrtc {
  size_t struct_size;
  cccl_cache_bytes source;
  cccl_cache_bytes name; /* as nvrtcCreateProgram's name; empty: NVRTC's default */
  const cccl_cache_bytes* options;
  size_t option_count;
  const cccl_cache_header* headers;
  size_t header_count;
  const cccl_cache_bytes* name_expressions;
  size_t name_expression_count;
  const cccl_cache_variable* environment; /* what the compiler would read: NVRTC_APPEND_FLAGS,
                                             which counts if NVRTCWIZ is "3153394" */
  size_t environment_count;
  int32_t append_toolchain_headers; /* not 0: search the toolchain's own headers after the options'
                                       directories */
} cccl_cache_nvrtc;

/* Builds a program, or returns its cached result. `options` may be NULL. Safe to call again after
 * any error. */
CCCL_CACHE_API cccl_cache_status cccl_cache_build_nvrtc(cccl_cache_client* client,
                                                        const cccl_cache_nvrtc* program,
                                                        const cccl_cache_build_options* options,
                                                        cccl_cache_result** result,
                                                        cccl_cache_error** error);

typedef struct cccl_cache_result_info {
  size_t struct_size;
  cccl_cache_outcome outcome;
  cccl_cache_tier tier;
  cccl_cache_bytes key;         /* hexadecimal */
  cccl_cache_bytes fingerprint; /* hexadecimal */
  cccl_cache_bytes toolchain_id;
  cccl_cache_bytes toolchain_version;
  cccl_cache_bytes log;    /* the compiler's log, unchanged */
  cccl_cache_bytes reason; /* why the outcome is uncacheable, failed or local */
  int32_t native_code;     /* the compiler library's own result code */
  int32_t remembered;      /* not 0: a remembered failure, not compiled again */
  int32_t precompiled_headers;
  uint64_t queue_us;   /* time spent waiting for a slot and for memory */
  uint64_t compile_us; /* 0 if nothing was compiled */
  uint64_t total_us;   /* from the call to its return */
  size_t artifact_count;
  size_t lowered_name_count;
  uint64_t saved_us;   /* of a hit or a joined build: duration of the original compile; 0 if
                          unknown */
  uint64_t request_id; /* the daemon's number of this request, which its log shows in hexadecimal; 0
                          if no daemon was asked */
  cccl_cache_bytes hint; /* a likely remedy for an error of NVRTC or nvJitLink, if the log does not
                            name it; else empty */
} cccl_cache_result_info;

typedef struct cccl_cache_artifact {
  size_t struct_size;
  cccl_cache_artifact_kind kind;
  cccl_cache_bytes contents;
  cccl_cache_bytes sha256; /* 32 bytes */
} cccl_cache_artifact;

typedef struct cccl_cache_lowered_name {
  size_t struct_size;
  cccl_cache_bytes expression;
  cccl_cache_bytes lowered;
} cccl_cache_lowered_name;

/* Each fills the struct up to its struct_size. The fields are zero if `index` is not below the
 * count. */
CCCL_CACHE_API void cccl_cache_result_describe(const cccl_cache_result* result,
                                               cccl_cache_result_info* info);
CCCL_CACHE_API void cccl_cache_result_artifact(const cccl_cache_result* result, size_t index,
                                               cccl_cache_artifact* artifact);
CCCL_CACHE_API void cccl_cache_result_lowered_name(const cccl_cache_result* result, size_t index,
                                                   cccl_cache_lowered_name* name);
CCCL_CACHE_API void cccl_cache_result_free(cccl_cache_result* result);

/* The fields of a result that most callers need. */
typedef struct cccl_cache_answer {
  size_t struct_size;
  cccl_cache_result* result; /* set on CCCL_CACHE_OK; the caller frees it */
  cccl_cache_error* error;   /* set on any other status; the caller frees it */
  cccl_cache_outcome outcome;
  cccl_cache_artifact_kind kind; /* of the first artifact; 0: there is none */
  cccl_cache_bytes contents;     /* of the first artifact; valid as long as the result */
} cccl_cache_answer;

/* Like cccl_cache_build_nvrtc, but returns the answer in the same call, for languages in which a
 * call into C costs microseconds. c/link.h has the same for links and NVVM IR. */
CCCL_CACHE_API cccl_cache_status cccl_cache_ask_nvrtc(cccl_cache_client* client,
                                                      const cccl_cache_nvrtc* program,
                                                      const cccl_cache_build_options* options,
                                                      cccl_cache_answer* answer);

#ifdef __cplusplus
}
#endif
