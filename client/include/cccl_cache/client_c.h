/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The C interface of libcccl_cache.so.1: everything else (C++, Python, Julia, the command line) is
 * thin over it.
 *
 *  - Handles are opaque. Who gets one frees it with the function of its name; freeing NULL does
 * nothing.
 *  - Bytes and texts are a pointer and a size. Those that the library hands out live as long as the
 * handle they were asked from; texts among them end with a NUL as well, which the size does not
 * count. Texts that are handed in need no NUL at their end and must contain none; contents of files
 * may contain anything.
 *  - Structs begin with `struct_size`: set it to sizeof of the struct. So a program works with a
 * library that knows more fields, or fewer, than it does. Everything else may be zero.
 *  - Functions that can fail return a cccl_cache_status and leave, where `error` is not NULL, an
 * error with text.
 *  - A client may be used by any number of threads at once. No thread is started, no signal handler
 * installed, no exception leaves. After fork() both processes may go on using the client; a result
 * is used by one thread at a time. A build that does not compile is not an error: its outcome says
 * so. */

#ifdef __cplusplus
extern "C" {
#endif

#define CCCL_CACHE_API __attribute__((visibility("default")))

typedef struct cccl_cache_client cccl_cache_client;
typedef struct cccl_cache_result cccl_cache_result;
typedef struct cccl_cache_error cccl_cache_error;
typedef struct cccl_cache_stats cccl_cache_stats;
typedef struct cccl_cache_toolchains cccl_cache_toolchains;
typedef struct cccl_cache_info cccl_cache_info;
typedef struct cccl_cache_explanation cccl_cache_explanation;

typedef struct cccl_cache_bytes {
  const char* data;
  size_t size;
} cccl_cache_bytes;

/* Numbers never change their meaning. */
typedef enum cccl_cache_status {
  CCCL_CACHE_OK = 0,
  CCCL_CACHE_NO_DAEMON = 1,       /* nobody listens on the socket, or no socket may be trusted */
  CCCL_CACHE_OVERLOADED = 2,      /* queue or quota full: see the error's retry hint */
  CCCL_CACHE_INVALID_REQUEST = 3, /* a field or option that can't be served; the text names it */
  CCCL_CACHE_TOOLCHAIN_NOT_FOUND = 4, /* the text lists those present */
  CCCL_CACHE_FILES_NEEDED =
      5,                    /* the build wants files that the daemon may not open for this user */
  CCCL_CACHE_DENIED = 6,    /* not allowed to this user */
  CCCL_CACHE_TIMED_OUT = 7, /* the daemon's own limit for one build passed */
  CCCL_CACHE_DEADLINE = 8,  /* the caller's timeout passed */
  CCCL_CACHE_WORKER_CRASHED = 9, /* the compiler died by its own signal */
  CCCL_CACHE_OUT_OF_MEMORY = 10, /* the compiler met its memory limit */
  CCCL_CACHE_CANCELLED = 11,     /* the daemon stopped the build */
  CCCL_CACHE_UNAVAILABLE = 12,   /* the daemon can't do it now, or the connection was lost */
  CCCL_CACHE_UPLOAD_NEEDED =
      14, /* what was sent ahead was forgotten twice; the library sends it again once */
  CCCL_CACHE_PROTOCOL = 13, /* the other end does not speak as agreed */
  CCCL_CACHE_TOO_LARGE = 15 /* more than the daemon takes in one message, with the contents sent
                               ahead too */
} cccl_cache_status;

typedef enum cccl_cache_outcome {
  CCCL_CACHE_OUTCOME_UNKNOWN = 0,
  CCCL_CACHE_HIT = 1,
  CCCL_CACHE_BUILT = 2,
  CCCL_CACHE_JOINED = 3,      /* waited for another caller's compile of the same thing */
  CCCL_CACHE_UNCACHEABLE = 4, /* compiled, not kept: the reason says why */
  CCCL_CACHE_FAILED = 5       /* does not compile: see log and native_code */
} cccl_cache_outcome;

typedef enum cccl_cache_tier {
  CCCL_CACHE_TIER_NONE = 0,
  CCCL_CACHE_TIER_MEMORY = 1,
  CCCL_CACHE_TIER_DISK = 2,
  CCCL_CACHE_TIER_REMOTE = 3,
  CCCL_CACHE_TIER_ARENA = 4
} cccl_cache_tier;

typedef enum cccl_cache_artifact_kind {
  CCCL_CACHE_PTX = 1,
  CCCL_CACHE_CUBIN = 2,
  CCCL_CACHE_LTOIR = 3,
  CCCL_CACHE_OPTIXIR = 4
} cccl_cache_artifact_kind;

typedef enum cccl_cache_link_input_type {
  CCCL_CACHE_INPUT_ANY = 0, /* told from the contents */
  CCCL_CACHE_INPUT_CUBIN = 1,
  CCCL_CACHE_INPUT_PTX = 2,
  CCCL_CACHE_INPUT_LTOIR = 3,
  CCCL_CACHE_INPUT_FATBIN = 4,
  CCCL_CACHE_INPUT_OBJECT = 5,
  CCCL_CACHE_INPUT_LIBRARY = 6
} cccl_cache_link_input_type;

/* Why a build is, or was, compiled. */
typedef enum cccl_cache_verdict {
  CCCL_CACHE_VERDICT_UNKNOWN = 0,
  CCCL_CACHE_VERDICT_HIT = 1,          /* it is not: the artifact lies in `tier` */
  CCCL_CACHE_VERDICT_NEVER_SEEN = 2,   /* no earlier build of this user resembles it */
  CCCL_CACHE_VERDICT_DIFFERS = 3,      /* from the nearest earlier build */
  CCCL_CACHE_VERDICT_EVICTED = 4,      /* its entry was dropped for room */
  CCCL_CACHE_VERDICT_CORRUPT = 5,      /* its entry did not verify */
  CCCL_CACHE_VERDICT_SHADOW_CHECK = 6, /* its entry was not what its compiler makes now */
  CCCL_CACHE_VERDICT_UNCACHEABLE = 7,  /* it is never kept: the reason says why */
  CCCL_CACHE_VERDICT_FAILED = 8,       /* it does not compile */
  CCCL_CACHE_VERDICT_NOT_KEPT = 9,    /* the nearest is the same; where its entry went is unknown */
  CCCL_CACHE_VERDICT_UNKNOWN_KEY = 10 /* no compiled build of this user is known by the key */
} cccl_cache_verdict;

typedef enum cccl_cache_difference_field {
  CCCL_CACHE_FIELD_UNKNOWN = 0,
  CCCL_CACHE_FIELD_OPTION = 1,
  CCCL_CACHE_FIELD_HEADER = 2, /* a file from outside the toolchain */
  CCCL_CACHE_FIELD_TOOLCHAIN = 3,
  CCCL_CACHE_FIELD_SOURCE = 4,
  CCCL_CACHE_FIELD_NAME_EXPRESSION = 5,
  CCCL_CACHE_FIELD_INLINE_HEADER = 6,
  CCCL_CACHE_FIELD_INPUT = 7, /* of a link, or a module of libNVVM */
  CCCL_CACHE_FIELD_DIRECTORY = 8,
  CCCL_CACHE_FIELD_PROGRAM_NAME = 9
} cccl_cache_difference_field;

/* ---- the library ---- */

/* "0.1.0" */
CCCL_CACHE_API const char* cccl_cache_version(void);
/* "no-daemon", ...; never NULL. */
CCCL_CACHE_API const char* cccl_cache_status_name(cccl_cache_status status);
/* "hit", "built", "joined", "uncacheable", "failed"; never NULL. */
CCCL_CACHE_API const char* cccl_cache_outcome_name(cccl_cache_outcome outcome);
/* "memory", "disk", "remote", "arena"; "" where it was compiled. */
CCCL_CACHE_API const char* cccl_cache_tier_name(cccl_cache_tier tier);
/* "hit", "never-seen", ...; never NULL. */
CCCL_CACHE_API const char* cccl_cache_verdict_name(cccl_cache_verdict verdict);
/* "option", "header", ...; never NULL. */
CCCL_CACHE_API const char* cccl_cache_difference_field_name(cccl_cache_difference_field field);
/* "ptx", "cubin", "ltoir", "optixir". */
CCCL_CACHE_API const char* cccl_cache_artifact_kind_name(cccl_cache_artifact_kind kind);

/* ---- errors ---- */

CCCL_CACHE_API cccl_cache_status cccl_cache_error_status(const cccl_cache_error* error);
/* The cause and the way out, for a person. */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_error_message(const cccl_cache_error* error);
/* When to come back, 0: no hint. */
CCCL_CACHE_API uint32_t cccl_cache_error_retry_after_ms(const cccl_cache_error* error);
CCCL_CACHE_API void cccl_cache_error_free(cccl_cache_error* error);

/* ---- the client ---- */

typedef struct cccl_cache_open_options {
  size_t struct_size;
  /* Path of the daemon's socket, taken at its word. Empty: $CCCL_CACHE_SOCKET, else
   * $XDG_RUNTIME_DIR/cccl-cached/socket if present, else /run/cccl-cached/socket. The last two only
   * if nobody but root, the service's user or this user can write the directories they lie in; a
   * set-uid program ignores the environment. */
  cccl_cache_bytes socket;
} cccl_cache_open_options;

/* Chooses the socket; connects at the first call. `options` may be NULL. */
CCCL_CACHE_API cccl_cache_status cccl_cache_open(const cccl_cache_open_options* options,
                                                 cccl_cache_client** client,
                                                 cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_bytes cccl_cache_client_socket(const cccl_cache_client* client);
/* No call of this client may be in progress. */
CCCL_CACHE_API void cccl_cache_close(cccl_cache_client* client);

/* ---- builds ---- */

typedef struct cccl_cache_build_options {
  size_t struct_size;
  /* At most one of the three; none: the newest toolchain that the driver can load. */
  cccl_cache_bytes toolchain_id; /* hexadecimal, or an unambiguous prefix of at least 8 digits */
  cccl_cache_bytes toolchain_version; /* "12.9" */
  uint32_t toolchain_major;           /* 12 */
  uint32_t driver_version;            /* as cuDriverGetVersion says (13000), 0: no driver */
  cccl_cache_bytes
      working_directory; /* absolute: where relative names are looked up; empty: unknown */
  const cccl_cache_artifact_kind* wanted; /* artifacts to receive; none: all */
  size_t wanted_count;
  uint32_t timeout_ms; /* 0: ten minutes */
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
  const cccl_cache_variable* environment; /* what the compiler would read: NVRTC_APPEND_FLAGS */
  size_t environment_count;
  int32_t append_toolchain_headers; /* not 0: search the toolchain's own headers after the options'
                                       directories */
} cccl_cache_nvrtc;

typedef struct cccl_cache_link_input {
  cccl_cache_link_input_type type;
  cccl_cache_bytes name;
  cccl_cache_bytes contents;
} cccl_cache_link_input;

/* nvJitLink over LTO-IR, PTX, cubins, fatbins, objects, libraries, in link order. */
typedef struct cccl_cache_link {
  size_t struct_size;
  const cccl_cache_link_input* inputs;
  size_t input_count;
  const cccl_cache_bytes* options;
  size_t option_count;
} cccl_cache_link;

typedef struct cccl_cache_nvvm_module {
  cccl_cache_bytes name;
  cccl_cache_bytes contents;
  int32_t lazy; /* not 0: added as nvvmLazyAddModuleToProgram does */
} cccl_cache_nvvm_module;

/* NVVM IR for libNVVM, modules in order. */
typedef struct cccl_cache_nvvm {
  size_t struct_size;
  const cccl_cache_nvvm_module* modules;
  size_t module_count;
  const cccl_cache_bytes* options;
  size_t option_count;
  int32_t add_libdevice; /* not 0: the toolchain's own libdevice, lazily, after the modules */
} cccl_cache_nvvm;

/* `options` may be NULL. Safe to call again after any error. */
CCCL_CACHE_API cccl_cache_status cccl_cache_build_nvrtc(cccl_cache_client* client,
                                                        const cccl_cache_nvrtc* program,
                                                        const cccl_cache_build_options* options,
                                                        cccl_cache_result** result,
                                                        cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_status cccl_cache_build_link(cccl_cache_client* client,
                                                       const cccl_cache_link* program,
                                                       const cccl_cache_build_options* options,
                                                       cccl_cache_result** result,
                                                       cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_status cccl_cache_build_nvvm(cccl_cache_client* client,
                                                       const cccl_cache_nvvm* program,
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
  cccl_cache_bytes log;    /* as the compiler wrote it */
  cccl_cache_bytes reason; /* why uncacheable or failed */
  int32_t native_code;     /* the compiler library's own result code */
  int32_t remembered;      /* a failure that was not tried again */
  int32_t precompiled_headers;
  uint64_t queue_us;   /* waiting for a slot */
  uint64_t compile_us; /* 0 where nothing was compiled */
  uint64_t total_us;   /* from the call to its answer */
  size_t artifact_count;
  size_t lowered_name_count;
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

/* Each fills the struct as far as struct_size says; `index` must be below the count. */
CCCL_CACHE_API void cccl_cache_result_describe(const cccl_cache_result* result,
                                               cccl_cache_result_info* info);
CCCL_CACHE_API void cccl_cache_result_artifact(const cccl_cache_result* result, size_t index,
                                               cccl_cache_artifact* artifact);
CCCL_CACHE_API void cccl_cache_result_lowered_name(const cccl_cache_result* result, size_t index,
                                                   cccl_cache_lowered_name* name);
CCCL_CACHE_API void cccl_cache_result_free(cccl_cache_result* result);

/* ---- why a build is a miss ---- (timeout_ms 0: two minutes) */

typedef struct cccl_cache_explanation_info {
  size_t struct_size;
  cccl_cache_verdict verdict;
  cccl_cache_tier tier;         /* where the artifact lies now */
  cccl_cache_bytes reason;      /* why uncacheable or failed */
  uint64_t since_ms;            /* when the entry went; times are since 1970, 0: none */
  cccl_cache_bytes nearest_key; /* hexadecimal, empty: there is no such build */
  cccl_cache_outcome nearest_outcome;
  uint64_t nearest_time_ms;
  size_t difference_count;
  uint64_t more_differences; /* that are not listed */
} cccl_cache_explanation_info;

typedef struct cccl_cache_difference {
  size_t struct_size;
  cccl_cache_difference_field field;
  cccl_cache_bytes name; /* which option, header, input */
  /* An option's text, a SHA-256 in hexadecimal, "absent", "a directory"; empty: none. */
  cccl_cache_bytes was;
  cccl_cache_bytes is;
  uint64_t was_lines; /* of a source or inline header */
  uint64_t is_lines;
} cccl_cache_difference;

/* Why this user's last build with that key (as a result has it) was compiled. */
CCCL_CACHE_API cccl_cache_status cccl_cache_explain_key(cccl_cache_client* client,
                                                        cccl_cache_bytes key, uint32_t timeout_ms,
                                                        cccl_cache_explanation** explanation,
                                                        cccl_cache_error** error);
/* Whether the build would be a hit, and why not. Compiles nothing. */
CCCL_CACHE_API cccl_cache_status cccl_cache_explain_nvrtc(cccl_cache_client* client,
                                                          const cccl_cache_nvrtc* program,
                                                          const cccl_cache_build_options* options,
                                                          cccl_cache_explanation** explanation,
                                                          cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_status cccl_cache_explain_link(cccl_cache_client* client,
                                                         const cccl_cache_link* program,
                                                         const cccl_cache_build_options* options,
                                                         cccl_cache_explanation** explanation,
                                                         cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_status cccl_cache_explain_nvvm(cccl_cache_client* client,
                                                         const cccl_cache_nvvm* program,
                                                         const cccl_cache_build_options* options,
                                                         cccl_cache_explanation** explanation,
                                                         cccl_cache_error** error);
CCCL_CACHE_API void cccl_cache_explanation_describe(const cccl_cache_explanation* explanation,
                                                    cccl_cache_explanation_info* info);
CCCL_CACHE_API void cccl_cache_explanation_difference(const cccl_cache_explanation* explanation,
                                                      size_t index,
                                                      cccl_cache_difference* difference);
CCCL_CACHE_API void cccl_cache_explanation_free(cccl_cache_explanation* explanation);

/* ---- the daemon ---- (timeout_ms 0: 30 seconds) */

typedef struct cccl_cache_statistic {
  size_t struct_size;
  cccl_cache_bytes name;
  cccl_cache_bytes label; /* the tier of hits_total, otherwise empty */
  double value;
  int32_t gauge; /* not 0: the state of this moment, not a total */
  cccl_cache_bytes help;
} cccl_cache_statistic;

CCCL_CACHE_API cccl_cache_status cccl_cache_get_stats(cccl_cache_client* client,
                                                      uint32_t timeout_ms, cccl_cache_stats** stats,
                                                      cccl_cache_error** error);
CCCL_CACHE_API size_t cccl_cache_stats_count(const cccl_cache_stats* stats);
CCCL_CACHE_API void cccl_cache_stats_item(const cccl_cache_stats* stats, size_t index,
                                          cccl_cache_statistic* statistic);
/* The daemon's version. */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_stats_version(const cccl_cache_stats* stats);
CCCL_CACHE_API void cccl_cache_stats_free(cccl_cache_stats* stats);

typedef struct cccl_cache_toolchain {
  size_t struct_size;
  cccl_cache_bytes id;
  cccl_cache_bytes version;
  cccl_cache_bytes root;
  int32_t selected_by_default;
  size_t component_count;
  size_t header_directory_count;
  size_t accepted_option_count;
} cccl_cache_toolchain;

typedef struct cccl_cache_component {
  size_t struct_size;
  cccl_cache_bytes name; /* "nvrtc", "nvjitlink", "nvvm" */
  cccl_cache_bytes version;
  cccl_cache_bytes id;
  cccl_cache_bytes path;
} cccl_cache_component;

/* An installation that was found and is not used. */
typedef struct cccl_cache_rejected_toolchain {
  size_t struct_size;
  cccl_cache_bytes root;
  cccl_cache_bytes reason;
} cccl_cache_rejected_toolchain;

CCCL_CACHE_API cccl_cache_status cccl_cache_get_toolchains(cccl_cache_client* client,
                                                           uint32_t timeout_ms,
                                                           cccl_cache_toolchains** toolchains,
                                                           cccl_cache_error** error);
CCCL_CACHE_API size_t cccl_cache_toolchains_count(const cccl_cache_toolchains* toolchains);
CCCL_CACHE_API void cccl_cache_toolchains_item(const cccl_cache_toolchains* toolchains,
                                               size_t index, cccl_cache_toolchain* toolchain);
CCCL_CACHE_API void cccl_cache_toolchains_component(const cccl_cache_toolchains* toolchains,
                                                    size_t toolchain, size_t index,
                                                    cccl_cache_component* component);
CCCL_CACHE_API cccl_cache_bytes cccl_cache_toolchains_header_directory(
    const cccl_cache_toolchains* toolchains, size_t toolchain, size_t index);
CCCL_CACHE_API cccl_cache_bytes cccl_cache_toolchains_accepted_option(
    const cccl_cache_toolchains* toolchains, size_t toolchain, size_t index);
CCCL_CACHE_API size_t cccl_cache_toolchains_rejected_count(const cccl_cache_toolchains* toolchains);
CCCL_CACHE_API void cccl_cache_toolchains_rejected(const cccl_cache_toolchains* toolchains,
                                                   size_t index,
                                                   cccl_cache_rejected_toolchain* rejected);
CCCL_CACHE_API void cccl_cache_toolchains_free(cccl_cache_toolchains* toolchains);

/* `*serving` is not 0 if the daemon says that it serves (grpc.health.v1). */
CCCL_CACHE_API cccl_cache_status cccl_cache_check_health(cccl_cache_client* client,
                                                         uint32_t timeout_ms, int32_t* serving,
                                                         cccl_cache_error** error);

typedef struct cccl_cache_daemon {
  size_t struct_size;
  cccl_cache_bytes version;
  uint32_t api_minor;
  uint32_t fingerprint_layout;
  uint32_t uid; /* of the daemon */
  uint64_t message_bytes;
  uint64_t source_bytes;
  uint64_t headers;
  uint64_t upload_bytes_per_uid;
  uint64_t connections_per_uid;
  uint64_t calls_per_uid;
  uint64_t calls;
  uint64_t build_seconds;
  uint64_t worker_bytes;
  uint64_t failures_remembered_seconds;
} cccl_cache_daemon;

CCCL_CACHE_API cccl_cache_status cccl_cache_get_info(cccl_cache_client* client, uint32_t timeout_ms,
                                                     cccl_cache_info** info,
                                                     cccl_cache_error** error);
CCCL_CACHE_API void cccl_cache_info_describe(const cccl_cache_info* info,
                                             cccl_cache_daemon* daemon);
CCCL_CACHE_API void cccl_cache_info_free(cccl_cache_info* info);

#ifdef __cplusplus
}
#endif
