/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* Queries about the daemon itself. Part of client_c.h. timeout_ms 0: 30 seconds. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cccl_cache_toolchains cccl_cache_toolchains;
typedef struct cccl_cache_info cccl_cache_info;

typedef struct cccl_cache_toolchain {
  size_t struct_size;
  cccl_cache_bytes id;
  cccl_cache_bytes version;
  cccl_cache_bytes root;
  int32_t selected_by_default; /* for CUDA C++ builds that name no toolchain */
  size_t component_count;
  size_t header_directory_count;
  size_t accepted_option_count;
  size_t architecture_count; /* those that NVRTC lists; 0: it can't list them */
} cccl_cache_toolchain;

typedef struct cccl_cache_component {
  size_t struct_size;
  cccl_cache_bytes name; /* "nvrtc", "nvjitlink", "nvvm" */
  cccl_cache_bytes version;
  cccl_cache_bytes id;
  cccl_cache_bytes path;
} cccl_cache_component;

/* An installation that the daemon found but does not use. */
typedef struct cccl_cache_rejected_toolchain {
  size_t struct_size;
  cccl_cache_bytes root;
  cccl_cache_bytes reason;
} cccl_cache_rejected_toolchain;

/* Returns the daemon's toolchains. `driver_version` is as in cccl_cache_build_options: the default
 * toolchain depends on it. */
CCCL_CACHE_API cccl_cache_status cccl_cache_get_toolchains(cccl_cache_client* client,
                                                           uint32_t driver_version,
                                                           uint32_t timeout_ms,
                                                           cccl_cache_toolchains** toolchains,
                                                           cccl_cache_error** error);
CCCL_CACHE_API size_t cccl_cache_toolchains_count(const cccl_cache_toolchains* toolchains);
/* If an index is not below its count, the result is zeros, or empty bytes. */
CCCL_CACHE_API void cccl_cache_toolchains_item(const cccl_cache_toolchains* toolchains,
                                               size_t index, cccl_cache_toolchain* toolchain);
CCCL_CACHE_API void cccl_cache_toolchains_component(const cccl_cache_toolchains* toolchains,
                                                    size_t toolchain, size_t index,
                                                    cccl_cache_component* component);
CCCL_CACHE_API cccl_cache_bytes cccl_cache_toolchains_header_directory(
    const cccl_cache_toolchains* toolchains, size_t toolchain, size_t index);
CCCL_CACHE_API cccl_cache_bytes cccl_cache_toolchains_accepted_option(
    const cccl_cache_toolchains* toolchains, size_t toolchain, size_t index);
/* Returns "sm_90". */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_toolchains_architecture(
    const cccl_cache_toolchains* toolchains, size_t toolchain, size_t index);
/* Returns the index of the toolchain whose compiler has the same bytes as the libnvrtc (with the
 * builtins beside it) or libnvJitLink at this path. Of several, one that is that very file is
 * preferred. CCCL_CACHE_NO_TOOLCHAIN: there is none, or the library can't be read. If the file's
 * stamp does not tell that the daemon has this very file, the first call reads all of it; its
 * digest is kept in the user's cache directory where the stamp proves what it holds. */
CCCL_CACHE_API size_t cccl_cache_toolchains_with_library(const cccl_cache_toolchains* toolchains,
                                                         cccl_cache_bytes path);
#define CCCL_CACHE_NO_TOOLCHAIN SIZE_MAX
/* Fills `stamp` with 64 hexadecimal digits and a zero that stand for the contents of the files at
 * these paths: while they stay the same, so does what the files hold, also for other processes.
 * Returns 0, and an empty text, if nothing proves that: a file changed just now, or it lies in an
 * image, in memory, or where another host or a program can change it. */
CCCL_CACHE_API int32_t cccl_cache_files_stamp(const cccl_cache_bytes* paths, size_t count,
                                              char stamp[65]);
/* Gives the daemon a copy of the libnvrtc (with the builtins beside it) or libnvJitLink at this
 * path, which then serves all users. The daemon takes NVIDIA's releases only, which it knows by
 * their digests; others are CCCL_CACHE_TOOLCHAIN_NOT_FOUND. `*added`: 0 if it has one with these
 * bytes already. Up to 150 MiB are sent. */
CCCL_CACHE_API cccl_cache_status cccl_cache_add_release(cccl_cache_client* client,
                                                        cccl_cache_bytes path, uint32_t timeout_ms,
                                                        int32_t* added, cccl_cache_error** error);
/* Fills `version` with that of the release ("13.0.88") that cccl_cache_add_release would give for
 * this path, and a zero; with an empty text if the daemon has one with these bytes. Nothing is sent
 * but digests. Fails as cccl_cache_add_release would. */
CCCL_CACHE_API cccl_cache_status cccl_cache_find_release(cccl_cache_client* client,
                                                         cccl_cache_bytes path, uint32_t timeout_ms,
                                                         char version[32],
                                                         cccl_cache_error** error);
CCCL_CACHE_API size_t cccl_cache_toolchains_rejected_count(const cccl_cache_toolchains* toolchains);
CCCL_CACHE_API void cccl_cache_toolchains_rejected(const cccl_cache_toolchains* toolchains,
                                                   size_t index,
                                                   cccl_cache_rejected_toolchain* rejected);
CCCL_CACHE_API void cccl_cache_toolchains_free(cccl_cache_toolchains* toolchains);

/* Sets `*serving` to non-zero if the daemon reports SERVING (grpc.health.v1). */
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
  uint64_t deposit_bytes; /* one deposit */
  uint64_t deposit_bytes_per_uid;
  uint64_t leases_per_uid;
  uint64_t lease_heartbeat_ms;
  uint64_t queued; /* builds that wait for a slot */
  uint64_t queued_per_uid;
  uint64_t bytes_in_flight; /* of requests and replies */
  uint64_t bytes_in_flight_per_uid;
  uint64_t connections;
  uint64_t upload_bytes;
  uint64_t lease_seconds;   /* maximum time that a lease can block other callers */
  cccl_cache_bytes problem; /* why the daemon is not ready, for people; empty: it is ready */
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
