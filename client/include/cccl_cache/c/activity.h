/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* What the daemon does now. Part of client_c.h. Administrators are told everything; others what
 * they wait for themselves, as if nobody else waited for it, and totals. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cccl_cache_activity cccl_cache_activity;

typedef struct cccl_cache_activity_info {
  size_t struct_size;
  uint64_t slots;
  uint64_t running; /* compiles */
  uint64_t queued;  /* compiles that wait for a slot */
  uint64_t waiting; /* callers */
  uint64_t preambles;
  uint64_t preamble_bytes;
  size_t flight_count;
  uint64_t more_flights; /* that are not listed */
  size_t user_count;
  size_t zygote_count;
  size_t failure_count;
  uint64_t compile_memory_bytes;       /* that running compiles are expected to need */
  uint64_t compile_memory_limit_bytes; /* above which others wait; 0: no limit */
  uint64_t waiting_for_memory;         /* compiles, of the running ones */
} cccl_cache_activity_info;

typedef enum cccl_cache_flight_state {
  CCCL_CACHE_FLIGHT_UNKNOWN = 0,
  CCCL_CACHE_FLIGHT_QUEUED = 1,  /* waits for a slot */
  CCCL_CACHE_FLIGHT_RUNNING = 2, /* is compiled */
  CCCL_CACHE_FLIGHT_LEASED = 3   /* a client makes a deposit */
} cccl_cache_flight_state;

/* A build or deposit in the making. */
typedef struct cccl_cache_flight {
  size_t struct_size;
  cccl_cache_bytes key;       /* of a build: cccl_cache_explain_key takes it while this lasts */
  cccl_cache_bytes kind;      /* "nvrtc", "link", "nvvm"; of a deposit its namespace */
  cccl_cache_bytes toolchain; /* empty for a deposit */
  cccl_cache_flight_state state;
  uint64_t waiters;     /* the holder of a lease is one */
  uint64_t age_ms;      /* since the first of the waiters came */
  uint64_t running_ms;  /* of the compile or the lease */
  uint64_t estimate_ms; /* mean time of earlier compiles of this kind and toolchain; 0: unknown */
  uint32_t uid;         /* of the first waiter */
  int32_t of_this_process; /* not 0: this process is a waiter */
} cccl_cache_flight;

/* Compiles of one user. */
typedef struct cccl_cache_user_queue {
  size_t struct_size;
  cccl_cache_bytes user; /* a uid, or "nameless" */
  uint64_t queued;
  uint64_t running;
} cccl_cache_user_queue;

/* A process that has loaded a toolchain. */
typedef struct cccl_cache_zygote {
  size_t struct_size;
  cccl_cache_bytes toolchain; /* version */
  uint64_t resident_bytes;    /* 0: unknown */
  uint64_t jobs;              /* so far */
  cccl_cache_bytes user;      /* the only one that it serves; empty: all */
} cccl_cache_zygote;

/* A build that was answered with an error or does not compile. */
typedef struct cccl_cache_failure {
  size_t struct_size;
  uint64_t time_ms; /* since 1970 */
  cccl_cache_bytes kind;
  uint32_t uid;
  cccl_cache_bytes key;   /* of a build that does not compile, otherwise empty */
  cccl_cache_bytes error; /* one line; of other uids only the cause */
} cccl_cache_failure;

/* timeout_ms 0: 30 seconds. An older daemon: CCCL_CACHE_PROTOCOL. */
CCCL_CACHE_API cccl_cache_status cccl_cache_get_activity(cccl_cache_client* client,
                                                         uint32_t timeout_ms,
                                                         cccl_cache_activity** activity,
                                                         cccl_cache_error** error);
/* These fill the struct. The fields are zero if `index` is not below its count. The newest failure
 * comes first. */
CCCL_CACHE_API void cccl_cache_activity_describe(const cccl_cache_activity* activity,
                                                 cccl_cache_activity_info* info);
CCCL_CACHE_API void cccl_cache_activity_flight(const cccl_cache_activity* activity, size_t index,
                                               cccl_cache_flight* flight);
CCCL_CACHE_API void cccl_cache_activity_user(const cccl_cache_activity* activity, size_t index,
                                             cccl_cache_user_queue* user);
CCCL_CACHE_API void cccl_cache_activity_zygote(const cccl_cache_activity* activity, size_t index,
                                               cccl_cache_zygote* zygote);
CCCL_CACHE_API void cccl_cache_activity_failure(const cccl_cache_activity* activity, size_t index,
                                                cccl_cache_failure* failure);
CCCL_CACHE_API void cccl_cache_activity_free(cccl_cache_activity* activity);

#ifdef __cplusplus
}
#endif
