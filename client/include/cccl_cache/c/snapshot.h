/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* Snapshots: files of cache entries, to be carried to another daemon. Part of client_c.h.
 * Descriptors stay open and belong to the caller. Writing starts at the descriptor's position;
 * reading ignores it and reads the whole file. timeout_ms 0: an hour. */

#ifdef __cplusplus
extern "C" {
#endif

/* Selects which of this user's entries go into the file. A zero field selects everything. */
typedef struct cccl_cache_snapshot_filter {
  size_t struct_size;
  cccl_cache_bytes toolchain; /* a major ("13"), a version ("12.9"), the beginning of an id */
  cccl_cache_bytes arch;      /* "sm_90" */
  uint64_t since; /* last answered (a deposit: used) at or after this, in seconds since 1970 */
  uint64_t until; /* last answered (a deposit: used) before this time */
  cccl_cache_bytes name_space; /* only deposits of this name space, and no artifacts */
  const uint32_t* uids;        /* only for administrators: the entries of these users */
  size_t uid_count;
  int32_t all_users;            /* not 0: the entries of all users; only for administrators */
  int32_t only_keys;            /* not 0: only entries whose key is among `keys` */
  const cccl_cache_bytes* keys; /* hexadecimal: of results, leases and deposits */
  size_t key_count;
} cccl_cache_snapshot_filter;

typedef struct cccl_cache_snapshot_summary {
  size_t struct_size;
  uint64_t records;  /* written to the file, or kept from it */
  uint64_t bytes;    /* size of the file; for an insert, of the kept records, decompressed */
  uint64_t left_out; /* matched or among `keys`, but not in the cache; for an insert, present
                      * already */
  int32_t shared;    /* not 0: inserted for all users */
} cccl_cache_snapshot_summary;

/* Writes a snapshot. After an error the written bytes are not a valid snapshot. `filter` and
 * `summary` may be NULL. */
CCCL_CACHE_API cccl_cache_status cccl_cache_snapshot_create(
    cccl_cache_client* client, int fd, const cccl_cache_snapshot_filter* filter,
    uint32_t timeout_ms, cccl_cache_snapshot_summary* summary, cccl_cache_error** error);
/* Writes a snapshot without the entries that the snapshot in `since_fd` holds. */
CCCL_CACHE_API cccl_cache_status cccl_cache_snapshot_delta(
    cccl_cache_client* client, int since_fd, int fd, const cccl_cache_snapshot_filter* filter,
    uint32_t timeout_ms, cccl_cache_snapshot_summary* summary, cccl_cache_error** error);

/* Inserts the snapshot in a regular file into the daemon's cache. The daemon verifies the whole
 * file before it keeps anything. An insert by an administrator (root, the daemon's user, a member
 * of `admin_group`) is for all users. An insert by any other user is private to that user and takes
 * precedence over the shared entries. `summary` may be NULL. CCCL_CACHE_INVALID_REQUEST: the whole
 * file is refused, and the message says why. CCCL_CACHE_OVERLOADED: a quota is full. */
CCCL_CACHE_API cccl_cache_status cccl_cache_snapshot_insert(cccl_cache_client* client, int fd,
                                                            uint32_t timeout_ms,
                                                            cccl_cache_snapshot_summary* summary,
                                                            cccl_cache_error** error);

typedef enum cccl_cache_snapshot_kind {
  CCCL_CACHE_SNAPSHOT_ARTIFACT = 1, /* compiled by the daemon */
  CCCL_CACHE_SNAPSHOT_DEPOSIT = 2   /* deposited by a client */
} cccl_cache_snapshot_kind;

/* Describes one item. Valid during the call that receives it. */
typedef struct cccl_cache_snapshot_item {
  size_t struct_size;
  cccl_cache_snapshot_kind kind;
  cccl_cache_bytes key;          /* hexadecimal */
  cccl_cache_bytes toolchain_id; /* hexadecimal */
  cccl_cache_bytes toolchain_version;
  cccl_cache_bytes arch;       /* empty: no option named one */
  cccl_cache_bytes name_space; /* of a deposit */
  uint64_t stored_bytes;       /* in the file */
  uint64_t bytes;              /* decompressed */
} cccl_cache_snapshot_item;

/* Receives one item. Returns non-zero to stop. */
typedef int (*cccl_cache_snapshot_visit)(const cccl_cache_snapshot_item* item, void* context);

/* Calls `visit` for each item of a regular file, in order. Needs no daemon. Reads and checks only
 * the index. CCCL_CACHE_INVALID_REQUEST: the file is not a complete snapshot. */
CCCL_CACHE_API cccl_cache_status cccl_cache_snapshot_list(int fd, cccl_cache_snapshot_visit visit,
                                                          void* context, cccl_cache_error** error);
/* Verifies all checksums of a regular file. Needs no daemon. CCCL_CACHE_INVALID_REQUEST: the file
 * is corrupt, and the message says why. `summary` may be NULL. */
CCCL_CACHE_API cccl_cache_status cccl_cache_snapshot_verify(int fd,
                                                            cccl_cache_snapshot_summary* summary,
                                                            cccl_cache_error** error);

#ifdef __cplusplus
}
#endif
