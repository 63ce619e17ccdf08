/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* Questions about the daemon itself, answered as JSON. Part of client_c.h. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cccl_cache_json cccl_cache_json;

/* Receives the answer so far: at the end, and now and then while it takes longer than a second. */
typedef void (*cccl_cache_query_progress)(cccl_cache_bytes so_far, void* context);

typedef struct cccl_cache_query_options {
  size_t struct_size;
  const cccl_cache_bytes* arguments; /* each "NAME=VALUE" */
  size_t argument_count;
  uint32_t timeout_ms;                /* 0: the question's own, below */
  cccl_cache_query_progress progress; /* may be NULL */
  void* context;                      /* of progress */
} cccl_cache_query_options;

/* Asks the daemon one of these questions:
 *
 *   stats       detailed=true: with the statistics by user, kind and toolchain. 30 s
 *   zero-stats  sets all totals to zero. 30 s; for administrators
 *
 * The answer is an object with the fields of the reply in proto/cccl_cache/v1, by name: a
 * StatsReply for stats. Numbers are numbers, and an enum is its value's name, as "never-seen" for
 * VERDICT_NEVER_SEEN. A field without a value is 0, false or empty; a message that is absent has no
 * key. `options` may be NULL. CCCL_CACHE_INVALID_REQUEST: no such question or argument.
 * CCCL_CACHE_PROTOCOL: the daemon is older and does not know the question. CCCL_CACHE_DENIED: the
 * caller is no administrator. */
CCCL_CACHE_API cccl_cache_status cccl_cache_query(cccl_cache_client* client, const char* question,
                                                  const cccl_cache_query_options* options,
                                                  cccl_cache_json** answer,
                                                  cccl_cache_error** error);
/* Returns the answer's text. Valid as long as the answer. */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_json_text(const cccl_cache_json* answer);
CCCL_CACHE_API void cccl_cache_json_free(cccl_cache_json* answer);

#ifdef __cplusplus
}
#endif
