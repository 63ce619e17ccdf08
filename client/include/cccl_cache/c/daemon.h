/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* The daemon's libraries and its health. Part of client_c.h. timeout_ms 0: 30 seconds. */

#ifdef __cplusplus
extern "C" {
#endif

/* A toolchain of the daemon that contains a given library. */
typedef struct cccl_cache_library_toolchain {
  size_t struct_size;
  char id[65];
  /* Those that NVRTC lists, 90 for sm_90; for an nvJitLink alone, those of a toolchain of the same
   * version. 0: it can't list them, or they are too many. */
  uint32_t architectures[64];
  size_t architecture_count;
} cccl_cache_library_toolchain;

/* Fills `found` with the daemon's toolchain whose compiler has the same bytes as the libnvrtc (with
 * the builtins beside it) or libnvJitLink at this path. Of several, one that is that very file is
 * preferred. CCCL_CACHE_TOOLCHAIN_NOT_FOUND: there is none, or the library can't be read. If the
 * file's stamp does not tell that the daemon has this very file, the first call reads all of it,
 * however long that takes; its digest is kept in the user's cache directory where the stamp proves
 * what it holds. */
CCCL_CACHE_API cccl_cache_status cccl_cache_toolchain_with_library(
    cccl_cache_client* client, cccl_cache_bytes path, uint32_t timeout_ms,
    cccl_cache_library_toolchain* found, cccl_cache_error** error);
/* Fills `stamp` with 64 hexadecimal digits and a zero that stand for the contents of the files at
 * these paths: while the digits stay the same, the files hold the same, also for other processes.
 * Returns 0, and an empty text, if nothing proves that: a file changed just now, or it lies in an
 * image, in memory, or where another host or a program can change it. */
CCCL_CACHE_API int32_t cccl_cache_files_stamp(const cccl_cache_bytes* paths, size_t count,
                                              char stamp[65]);
/* Gives the daemon a copy of the libnvrtc (with the builtins beside it) or libnvJitLink at this
 * path, which then serves all users. The daemon takes NVIDIA's releases only, which it knows by
 * their digests; for any other file the call returns CCCL_CACHE_TOOLCHAIN_NOT_FOUND. `*added`: 0
 * if the daemon has a release with these bytes already. Up to 150 MiB are sent. */
CCCL_CACHE_API cccl_cache_status cccl_cache_add_release(cccl_cache_client* client,
                                                        cccl_cache_bytes path, uint32_t timeout_ms,
                                                        int32_t* added, cccl_cache_error** error);
/* Fills `version` with the version ("13.0.88") of the release that cccl_cache_add_release would
 * give the daemon for this path, and a zero; with an empty text if the daemon has a release with
 * these bytes. Nothing is sent but digests. Fails as cccl_cache_add_release would. */
CCCL_CACHE_API cccl_cache_status cccl_cache_find_release(cccl_cache_client* client,
                                                         cccl_cache_bytes path, uint32_t timeout_ms,
                                                         char version[32],
                                                         cccl_cache_error** error);

/* Sets `*serving` to non-zero if the daemon reports SERVING (grpc.health.v1). */
CCCL_CACHE_API cccl_cache_status cccl_cache_check_health(cccl_cache_client* client,
                                                         uint32_t timeout_ms, int32_t* serving,
                                                         cccl_cache_error** error);

/* Sets `*ready` to non-zero if the daemon has no problem: the answer to "info" says which. */
CCCL_CACHE_API cccl_cache_status cccl_cache_check_ready(cccl_cache_client* client,
                                                        uint32_t timeout_ms, int32_t* ready,
                                                        cccl_cache_error** error);

#ifdef __cplusplus
}
#endif
