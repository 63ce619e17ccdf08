/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/build.h"
#include "cccl_cache/c/link.h"

/* Many builds at once, answered as they finish. Part of client_c.h. */

#ifdef __cplusplus
extern "C" {
#endif

/* A batch of concurrent builds. It is used by one thread at a time, and only by the process that
 * opened it; a forked child may free it. A batch starts no thread: builds advance only while one of
 * its functions runs. Its descriptor tells when to call one. */
typedef struct cccl_cache_batch cccl_cache_batch;

/* Timeout for cccl_cache_batch_next: waits until a build finishes. */
#define CCCL_CACHE_NO_TIMEOUT UINT32_MAX

/* Opens a batch. The client must outlive it. */
CCCL_CACHE_API cccl_cache_status cccl_cache_batch_open(cccl_cache_client* client,
                                                       cccl_cache_batch** batch,
                                                       cccl_cache_error** error);

/* Each adds a build, for which cccl_cache_batch_next answers once, with this tag. The program
 * chooses the tag; the library does not interpret it. Contents are copied. Returns without waiting.
 * The timeout among the options starts now. Until it passes, a build that the daemon has no room
 * for is retried after the time that the daemon named. Fails only for requests that can't be sent
 * at all. */
CCCL_CACHE_API cccl_cache_status cccl_cache_batch_add_nvrtc(cccl_cache_batch* batch,
                                                            const cccl_cache_nvrtc* program,
                                                            const cccl_cache_build_options* options,
                                                            uint64_t tag, cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_status cccl_cache_batch_add_link(cccl_cache_batch* batch,
                                                           const cccl_cache_link* program,
                                                           const cccl_cache_build_options* options,
                                                           uint64_t tag, cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_status cccl_cache_batch_add_nvvm(cccl_cache_batch* batch,
                                                           const cccl_cache_nvvm* program,
                                                           const cccl_cache_build_options* options,
                                                           uint64_t tag, cccl_cache_error** error);

/* Returns a descriptor for poll(2): it is readable when cccl_cache_batch_next should be called.
 * That call may still find no finished build. The descriptor belongs to the batch, which closes it.
 * It changes only if the program closed it, or gave its number to another file: the batch then
 * makes another one when it is next used, and until then this returns -1. */
CCCL_CACHE_API int cccl_cache_batch_fd(const cccl_cache_batch* batch);

/* Returns the number of added builds that cccl_cache_batch_next has not returned yet. 0 in a forked
 * child. */
CCCL_CACHE_API size_t cccl_cache_batch_pending(const cccl_cache_batch* batch);

/* Returns the next finished build, in order of completion. `timeout_ms` 0: does not wait.
 * CCCL_CACHE_OK with a result: the build with this tag finished. CCCL_CACHE_OK with NULL: no build
 * has finished in time, or none is left. Any other status: the build with this tag failed, and
 * `error` says why. */
CCCL_CACHE_API cccl_cache_status cccl_cache_batch_next(cccl_cache_batch* batch, uint32_t timeout_ms,
                                                       uint64_t* tag, cccl_cache_result** result,
                                                       cccl_cache_error** error);

/* Cancels the unfinished builds with this tag: they finish with CCCL_CACHE_CANCELLED. The daemon
 * stops a compile that no other caller waits for. */
CCCL_CACHE_API void cccl_cache_batch_cancel(cccl_cache_batch* batch, uint64_t tag);

/* Frees the batch and cancels its unfinished builds. */
CCCL_CACHE_API void cccl_cache_batch_free(cccl_cache_batch* batch);

#ifdef __cplusplus
}
#endif
