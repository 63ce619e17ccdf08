/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* Files of what was compiled, to be carried to another daemon. Part of client_c.h. Descriptors stay
 * open, and the caller's; files are written from the descriptor's position on, and read whole
 * wherever that is. timeout_ms 0: an hour. */

#ifdef __cplusplus
extern "C" {
#endif

/* What of all that this user was answered goes into the file. Zero fields narrow nothing. */
typedef struct cccl_cache_snapshot_filter {
  size_t struct_size;
  cccl_cache_bytes toolchain;  /* a major ("13"), a version ("12.9"), the beginning of an id */
  cccl_cache_bytes arch;       /* "sm_90" */
  uint64_t since;              /* last answered then or later, in seconds since 1970 */
  uint64_t until;              /* last answered before */
  cccl_cache_bytes name_space; /* of deposits: then no artifacts */
  const uint32_t* uids;        /* root and the daemon's user alone: what these were answered */
  size_t uid_count;
  int32_t all_users; /* not 0, the same: what anybody was answered */
} cccl_cache_snapshot_filter;

typedef struct cccl_cache_snapshot_summary {
  size_t struct_size;
  uint64_t records;  /* in the file, or kept from it */
  uint64_t bytes;    /* of the file; of what was kept, decompressed */
  uint64_t left_out; /* named by the filter and not kept any more; there already */
  int32_t shared;    /* not 0: kept for everybody */
} cccl_cache_snapshot_summary;

/* Writes a snapshot. After an error what was written is none. `filter` and `summary` may be NULL.
 */
CCCL_CACHE_API cccl_cache_status cccl_cache_snapshot_create(
    cccl_cache_client* client, int fd, const cccl_cache_snapshot_filter* filter,
    uint32_t timeout_ms, cccl_cache_snapshot_summary* summary, cccl_cache_error** error);
/* The same without what the snapshot in `since_fd` holds already. */
CCCL_CACHE_API cccl_cache_status cccl_cache_snapshot_delta(
    cccl_cache_client* client, int since_fd, int fd, const cccl_cache_snapshot_filter* filter,
    uint32_t timeout_ms, cccl_cache_snapshot_summary* summary, cccl_cache_error** error);

/* Hands the snapshot in a regular file to the daemon, which verifies all of it before it keeps
 * anything. What root and the daemon's user insert is everybody's; what another user inserts is
 * that user's own, asked before what all share. `summary` may be NULL. CCCL_CACHE_INVALID_REQUEST:
 * the file is refused as a whole, and the text says why; CCCL_CACHE_OVERLOADED: a quota. */
CCCL_CACHE_API cccl_cache_status cccl_cache_snapshot_insert(cccl_cache_client* client, int fd,
                                                            uint32_t timeout_ms,
                                                            cccl_cache_snapshot_summary* summary,
                                                            cccl_cache_error** error);

typedef enum cccl_cache_snapshot_kind {
  CCCL_CACHE_SNAPSHOT_ARTIFACT = 1, /* what the daemon compiled */
  CCCL_CACHE_SNAPSHOT_DEPOSIT = 2   /* what a client made itself */
} cccl_cache_snapshot_kind;

/* All of it lives as long as the call that it is handed to. */
typedef struct cccl_cache_snapshot_item {
  size_t struct_size;
  cccl_cache_snapshot_kind kind;
  cccl_cache_bytes key;          /* hexadecimal */
  cccl_cache_bytes toolchain_id; /* hexadecimal */
  cccl_cache_bytes toolchain_version;
  cccl_cache_bytes arch;       /* empty: the options named none */
  cccl_cache_bytes name_space; /* of a deposit */
  uint64_t stored_bytes;       /* in the file */
  uint64_t bytes;              /* decompressed */
} cccl_cache_snapshot_item;

/* Not 0: no more. */
typedef int (*cccl_cache_snapshot_visit)(const cccl_cache_snapshot_item* item, void* context);

/* Calls `visit` for each item of a regular file, in order. Asks no daemon. Reads the index alone,
 * and says what is wrong with it; CCCL_CACHE_INVALID_REQUEST: this is no whole snapshot. */
CCCL_CACHE_API cccl_cache_status cccl_cache_snapshot_list(int fd, cccl_cache_snapshot_visit visit,
                                                          void* context, cccl_cache_error** error);
/* Whether every byte of a regular file is as it was written. Asks no daemon.
 * CCCL_CACHE_INVALID_REQUEST: it is not, and the text says why. `summary` may be NULL. */
CCCL_CACHE_API cccl_cache_status cccl_cache_snapshot_verify(int fd,
                                                            cccl_cache_snapshot_summary* summary,
                                                            cccl_cache_error** error);

#ifdef __cplusplus
}
#endif
