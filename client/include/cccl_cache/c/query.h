/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/build.h"
#include "cccl_cache/c/link.h"

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

/* Asks the daemon one of these questions, each with its arguments and its timeout:
 *
 *   stats       detailed=true: with the statistics by user, kind and toolchain. 30 s
 *   info        The daemon's version, limits and problem. 30 s
 *   toolchains  driver_version=NUMBER, as in cccl_cache_build_options: the default toolchain
 *               depends on it. 30 s
 *   activity    What the daemon does now. 30 s
 *   explain     key=KEY: why this user's last build with that key was compiled. The first 8 or
 *               more digits of the key will do. 2 min
 *
 * And for administrators:
 *
 *   zero-stats  Sets all totals to zero. 30 s
 *   evict       keys=KEY, once or more, unused_s=SECONDS, toolchain=ID or all=true: evicts these
 *               entries of all users. unused_s and all evict deposits as well. 1 h
 *   verify      Has the daemon read all that its disk holds, and drop what does not verify. Ends
 *               with its caller. 24 h
 *
 * The answer is an object with the fields of the reply in proto/cccl_cache/v1, by name:
 * those of a StatsReply for stats. Numbers are numbers, and an enum is the name of its value,
 * "never-seen" for VERDICT_NEVER_SEEN. A field without a value is 0, false or empty; a message that
 * is absent has no key. `options` may be NULL. CCCL_CACHE_INVALID_REQUEST: no such question or
 * argument, or several keys begin with the digits. CCCL_CACHE_PROTOCOL: the daemon is older and
 * does not know the question. CCCL_CACHE_DENIED: the caller is no administrator. */
CCCL_CACHE_API cccl_cache_status cccl_cache_query(cccl_cache_client* client, const char* question,
                                                  const cccl_cache_query_options* options,
                                                  cccl_cache_json** answer,
                                                  cccl_cache_error** error);
/* Each returns whether the build would be a hit, and if not, why: as the question explain does.
 * Compiles nothing. */
CCCL_CACHE_API cccl_cache_status cccl_cache_explain_nvrtc(cccl_cache_client* client,
                                                          const cccl_cache_nvrtc* program,
                                                          const cccl_cache_build_options* options,
                                                          cccl_cache_json** answer,
                                                          cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_status cccl_cache_explain_link(cccl_cache_client* client,
                                                         const cccl_cache_link* program,
                                                         const cccl_cache_build_options* options,
                                                         cccl_cache_json** answer,
                                                         cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_status cccl_cache_explain_nvvm(cccl_cache_client* client,
                                                         const cccl_cache_nvvm* program,
                                                         const cccl_cache_build_options* options,
                                                         cccl_cache_json** answer,
                                                         cccl_cache_error** error);
/* Returns the answer's text. Valid as long as the answer. */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_json_text(const cccl_cache_json* answer);
CCCL_CACHE_API void cccl_cache_json_free(cccl_cache_json* answer);

#ifdef __cplusplus
}
#endif
