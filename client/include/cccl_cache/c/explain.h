/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/build.h"
#include "cccl_cache/c/link.h"

/* Explanations of misses. Part of client_c.h. timeout_ms 0: two minutes. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cccl_cache_explanation cccl_cache_explanation;

/* The cause of a past or expected compile. */
typedef enum cccl_cache_verdict {
  CCCL_CACHE_VERDICT_UNKNOWN = 0,
  CCCL_CACHE_VERDICT_HIT = 1,          /* not a miss: the artifact is in `tier` */
  CCCL_CACHE_VERDICT_NEVER_SEEN = 2,   /* no earlier build of this user resembles it */
  CCCL_CACHE_VERDICT_DIFFERS = 3,      /* differs from the nearest earlier build */
  CCCL_CACHE_VERDICT_EVICTED = 4,      /* its entry was evicted */
  CCCL_CACHE_VERDICT_CORRUPT = 5,      /* its entry failed verification */
  CCCL_CACHE_VERDICT_SHADOW_CHECK = 6, /* its entry differed from a new compile */
  CCCL_CACHE_VERDICT_UNCACHEABLE = 7,  /* never cached: `reason` says why */
  CCCL_CACHE_VERDICT_FAILED = 8,       /* it does not compile */
  CCCL_CACHE_VERDICT_NOT_KEPT =
      9, /* the nearest is identical; it is unknown why its entry is gone */
  CCCL_CACHE_VERDICT_UNKNOWN_KEY = 10 /* no known build of this user has the key */
} cccl_cache_verdict;

typedef enum cccl_cache_difference_field {
  CCCL_CACHE_FIELD_UNKNOWN = 0,
  CCCL_CACHE_FIELD_OPTION = 1,
  CCCL_CACHE_FIELD_HEADER = 2, /* a file outside the request, or a toolchain's header entry */
  CCCL_CACHE_FIELD_TOOLCHAIN = 3,
  CCCL_CACHE_FIELD_SOURCE = 4,
  CCCL_CACHE_FIELD_NAME_EXPRESSION = 5,
  CCCL_CACHE_FIELD_INLINE_HEADER = 6,
  CCCL_CACHE_FIELD_INPUT = 7, /* an input of a link, or a libNVVM module */
  CCCL_CACHE_FIELD_DIRECTORY = 8,
  CCCL_CACHE_FIELD_PROGRAM_NAME = 9
} cccl_cache_difference_field;

/* What one tier has of the artifact. */
typedef enum cccl_cache_tier_finding {
  CCCL_CACHE_FINDING_UNKNOWN = 0,
  CCCL_CACHE_FINDING_HAS_IT = 1,
  CCCL_CACHE_FINDING_NO_ENTRY = 2,
  CCCL_CACHE_FINDING_REFUSED = 3,        /* its entry is not taken: `reason` says why */
  CCCL_CACHE_FINDING_NO_ANSWER = 4,      /* not within the time that a build waits: `reason` */
  CCCL_CACHE_FINDING_NOT_CONNECTED = 5,  /* `reason` says why */
  CCCL_CACHE_FINDING_NOT_CONFIGURED = 6, /* there is no such tier */
  CCCL_CACHE_FINDING_NOT_ASKED = 7       /* `reason` says why */
} cccl_cache_tier_finding;

/* Returns the name, for example "never-seen"; never NULL. */
CCCL_CACHE_API const char* cccl_cache_verdict_name(cccl_cache_verdict verdict);
/* Returns the name, for example "option"; never NULL. */
CCCL_CACHE_API const char* cccl_cache_difference_field_name(cccl_cache_difference_field field);

/* Returns the name, for example "no-entry"; never NULL. */
CCCL_CACHE_API const char* cccl_cache_tier_finding_name(cccl_cache_tier_finding finding);

typedef struct cccl_cache_explanation_info {
  size_t struct_size;
  cccl_cache_verdict verdict;
  cccl_cache_tier tier; /* the tier that holds the artifact now */
  cccl_cache_bytes
      reason; /* why it is uncacheable, failed or compared with no build, or why paths matter */
  uint64_t
      since_ms; /* when the entry was dropped or the key compiled, in ms since 1970; 0: unknown */
  cccl_cache_bytes nearest_key; /* hexadecimal, empty: there is no such build */
  cccl_cache_outcome nearest_outcome;
  uint64_t nearest_time_ms;
  size_t difference_count;
  uint64_t more_differences; /* number of differences that are not listed */
  size_t tier_count;         /* 0: no tier is asked, or the daemon is older */
} cccl_cache_explanation_info;

typedef struct cccl_cache_tier_look {
  size_t struct_size;
  cccl_cache_tier tier;
  cccl_cache_tier_finding finding;
  cccl_cache_bytes reason;
} cccl_cache_tier_look;

typedef struct cccl_cache_difference {
  size_t struct_size;
  cccl_cache_difference_field field;
  cccl_cache_bytes name; /* which option, header, input */
  /* An option's text, a SHA-256 in hexadecimal, "absent" or "a directory". Empty: no value. */
  cccl_cache_bytes was;
  cccl_cache_bytes is;
  uint64_t was_lines; /* lines of a source or inline header */
  uint64_t is_lines;
} cccl_cache_difference;

/* Returns why this user's last build with `key` was compiled. The key is as in a result, or its
 * first 8 or more digits: CCCL_CACHE_INVALID_REQUEST if several keys begin with them. */
CCCL_CACHE_API cccl_cache_status cccl_cache_explain_key(cccl_cache_client* client,
                                                        cccl_cache_bytes key, uint32_t timeout_ms,
                                                        cccl_cache_explanation** explanation,
                                                        cccl_cache_error** error);
/* Each returns whether the build would be a hit, and if not, why. Compiles nothing. */
CCCL_CACHE_API cccl_cache_status cccl_cache_explain_nvrtc(cccl_cache_client* client,
                                                          const cccl_cache_nvrtc* program,
                                                          const cccl_cache_build_options* options,
                                                          cccl_cache_explanation** explanation,
                                                          cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_status cccl_cache_explain_link(cccl_cache_client* client,
                                                         const cccl_cache_link* program,
                                                         const cccl_cache_build_options* options,
                                                         cccl_cache_explanation** explanation,
                                                         cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_status cccl_cache_explain_nvvm(cccl_cache_client* client,
                                                         const cccl_cache_nvvm* program,
                                                         const cccl_cache_build_options* options,
                                                         cccl_cache_explanation** explanation,
                                                         cccl_cache_error** error);
CCCL_CACHE_API void cccl_cache_explanation_describe(const cccl_cache_explanation* explanation,
                                                    cccl_cache_explanation_info* info);
/* Fills the struct. The fields are zero if `index` is not below the count. */
CCCL_CACHE_API void cccl_cache_explanation_difference(const cccl_cache_explanation* explanation,
                                                      size_t index,
                                                      cccl_cache_difference* difference);
/* Fills the struct with what a tier has, in the order in which a build asks them, up to the one
 * that has the artifact. The fields are zero if `index` is not below the count. */
CCCL_CACHE_API void cccl_cache_explanation_tier(const cccl_cache_explanation* explanation,
                                                size_t index, cccl_cache_tier_look* look);
CCCL_CACHE_API void cccl_cache_explanation_free(cccl_cache_explanation* explanation);

#ifdef __cplusplus
}
#endif
