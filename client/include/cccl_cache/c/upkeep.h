/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* What administrators do to the daemon's store: root, the daemon's user and the members of its
 * admin_group. Everyone else gets CCCL_CACHE_DENIED. Part of client_c.h. Experimental: it may
 * change before 1.0. */

#ifdef __cplusplus
extern "C" {
#endif

/* Selects what is evicted. Exactly one field is set. */
typedef struct cccl_cache_eviction_filter {
  size_t struct_size;
  const cccl_cache_bytes* keys; /* hexadecimal, or unambiguous prefixes of at least 8 digits */
  size_t key_count;
  uint64_t unused_seconds;    /* what was not used for more than this many seconds */
  cccl_cache_bytes toolchain; /* id, or an unambiguous prefix of at least 8 digits: what users were
                               * last answered with from it */
  int32_t all;                /* not 0: everything */
} cccl_cache_eviction_filter;

typedef struct cccl_cache_evicted {
  size_t struct_size;
  uint64_t entries;
  uint64_t bytes; /* as they counted against the store's limits */
} cccl_cache_evicted;

/* Receives the numbers so far: at the end, and now and then while a call takes longer than a
 * second. */
typedef void (*cccl_cache_evict_progress)(const cccl_cache_evicted* so_far, void* context);

/* Evicts entries of all users; with `all` and `unused_seconds`, deposits as well. `progress` and
 * `evicted` may be NULL. timeout_ms 0: an hour. CCCL_CACHE_INVALID_REQUEST: a prefix is ambiguous,
 * or no known toolchain has it; nothing was evicted. */
CCCL_CACHE_API cccl_cache_status cccl_cache_evict(cccl_cache_client* client,
                                                  const cccl_cache_eviction_filter* filter,
                                                  cccl_cache_evict_progress progress, void* context,
                                                  uint32_t timeout_ms, cccl_cache_evicted* evicted,
                                                  cccl_cache_error** error);

typedef struct cccl_cache_verified {
  size_t struct_size;
  uint64_t entries; /* read so far */
  uint64_t bytes;   /* as they count against the store's limits */
  uint64_t all_entries;
  uint64_t all_bytes;
  uint64_t broken;     /* of those read: did not verify, and were dropped */
  uint64_t unreadable; /* the disk did not give them; they are kept */
} cccl_cache_verified;

typedef void (*cccl_cache_verify_progress)(const cccl_cache_verified* so_far, void* context);

/* Has the daemon read all that its disk holds, and drop what does not verify. Ends with its caller.
 * `progress` and `verified` may be NULL. timeout_ms 0: a day. */
CCCL_CACHE_API cccl_cache_status cccl_cache_verify(cccl_cache_client* client,
                                                   cccl_cache_verify_progress progress,
                                                   void* context, uint32_t timeout_ms,
                                                   cccl_cache_verified* verified,
                                                   cccl_cache_error** error);

#ifdef __cplusplus
}
#endif
