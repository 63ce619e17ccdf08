/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/build.h"
#include "cccl_cache/c/link.h"

/* Many builds at once, answered as they finish. Part of client_c.h. */

#ifdef __cplusplus
extern "C" {
#endif

/* Builds that are under way together. Used by one thread at a time, and only by the process that
 * opened it: a forked child may free it. No thread goes on with them: that happens while a function
 * of the batch runs, and its descriptor tells when to call one. */
typedef struct cccl_cache_batch cccl_cache_batch;

/* As a timeout of cccl_cache_batch_next: until one finishes. */
#define CCCL_CACHE_NO_TIMEOUT UINT32_MAX

/* The client must outlive it. */
CCCL_CACHE_API cccl_cache_status cccl_cache_batch_open(cccl_cache_client* client,
                                                       cccl_cache_batch** batch,
                                                       cccl_cache_error** error);

/* Each adds a build, for which cccl_cache_batch_next will answer once, with this tag: the program's
 * own, of which the library thinks nothing. Contents are copied. Returns without waiting. The
 * timeout among the options counts from here: until then a daemon that has no room for the build is
 * asked again, when it said. Fails only for what can't be sent at all. */
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

/* For poll(2): readable when cccl_cache_batch_next should be called. It may find that none has
 * finished yet. The same for as long as the batch lives, which closes it. */
CCCL_CACHE_API int cccl_cache_batch_fd(const cccl_cache_batch* batch);

/* Builds that were added and not answered by cccl_cache_batch_next yet; in a forked child none. */
CCCL_CACHE_API size_t cccl_cache_batch_pending(const cccl_cache_batch* batch);

/* The next build that finished, in whatever order they do. `timeout_ms` 0: does not wait.
 * CCCL_CACHE_OK with a result: that of the build with this tag. CCCL_CACHE_OK with NULL: none has
 * finished, or none is left. Everything else: why the build with this tag has no result. */
CCCL_CACHE_API cccl_cache_status cccl_cache_batch_next(cccl_cache_batch* batch, uint32_t timeout_ms,
                                                       uint64_t* tag, cccl_cache_result** result,
                                                       cccl_cache_error** error);

/* The builds with this tag that have not finished do so as CCCL_CACHE_CANCELLED. What nobody else
 * waits for is compiled no further. */
CCCL_CACHE_API void cccl_cache_batch_cancel(cccl_cache_batch* batch, uint64_t tag);

/* Cancels what is under way. */
CCCL_CACHE_API void cccl_cache_batch_free(cccl_cache_batch* batch);

#ifdef __cplusplus
}
#endif
