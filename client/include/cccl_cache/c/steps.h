/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* Steps: functions of a program whose result, some bytes, depends only on fields that the program
 * names. Each step is made once for all processes of this user. The daemon keeps the result. While
 * one process makes it, all others wait for it. Part of client_c.h.
 *
 * No call fails: a step that finds no daemon is made as without this library. All steps of a
 * process share one table of the steps that are being made, so that no thread waits for the daemon
 * because of a lease that its own process holds. If a thread asks again for a step that it makes,
 * the inner step is made at once. All other threads wait for the first of them. A child after a
 * fork does not wait for the steps that the forking thread makes. */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cccl_cache_steps cccl_cache_steps;
typedef struct cccl_cache_step cccl_cache_step;

typedef struct cccl_cache_steps_options {
  size_t struct_size;
  cccl_cache_bytes name_space; /* the program that defines the fields: "org.example.tool". At most
                                  128 bytes */
  cccl_cache_bytes group;  /* name or number of a Unix group whose members share the values, and so
                              run each other's code if a value has code; empty: the values belong to
                              the user alone */
  cccl_cache_bytes socket; /* as in cccl_cache_open_options */
  uint32_t wait_ms;        /* the longest wait for another process or thread that makes the same
                              value; then the caller makes it, and its next waits for processes are
                              short, until the daemon answers. 0: 20 minutes */
  uint32_t hold_ms; /* how long this process may keep others waiting for a value; then they are
                       released, and each makes its own. The daemon's lease_limit (20 minutes) is
                       the upper bound. 0: 20 minutes */
} cccl_cache_steps_options;

/* Opens the steps of one namespace. Thread-safe, and usable after a fork. */
CCCL_CACHE_API cccl_cache_steps* cccl_cache_steps_open(const cccl_cache_steps_options* options);
/* Closes the steps. Their open steps stay valid. No call of these steps may be in progress. */
CCCL_CACHE_API void cccl_cache_steps_close(cccl_cache_steps* steps);

/* Returns a step: its value, or the right to make it. `description` has all inputs on which the
 * value depends, in any form and size; it is hashed. Equal descriptions are the same step. With
 * the encoding of cccl_cache/steps.h, the steps are also those of Python. `replace` not 0: returns
 * the right to make another value in place of one that this user has deposited; others get the old
 * value until cccl_cache_step_put. */
CCCL_CACHE_API cccl_cache_step* cccl_cache_steps_get(cccl_cache_steps* steps,
                                                     cccl_cache_bytes description, int32_t replace);
/* Returns a step, with its value if there is one or if another process or thread makes it now.
 * Otherwise the step has no value and no right to make it. */
CCCL_CACHE_API cccl_cache_step* cccl_cache_steps_wait(cccl_cache_steps* steps,
                                                      cccl_cache_bytes description);

/* A step is used by one thread at a time. */

CCCL_CACHE_API int32_t cccl_cache_step_has_value(const cccl_cache_step* step);
/* Returns the value, or no bytes. Valid as long as the step. */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_step_value(const cccl_cache_step* step);
/* Returns non-zero while other processes wait for this step, as far as the client knows. */
CCCL_CACHE_API int32_t cccl_cache_step_held(const cccl_cache_step* step);
/* Sets the value, which is copied. All waiting processes and threads get it. Does nothing if the
 * step has a value. A value that the daemon does not accept, for example because it is too large,
 * stays in this process. */
CCCL_CACHE_API void cccl_cache_step_put(cccl_cache_step* step, cccl_cache_bytes value);
/* Reports that the value can't be made. All waiting processes and threads are released at once, and
 * each makes its own. Nothing is remembered. Does nothing if the step has a value. */
CCCL_CACHE_API void cccl_cache_step_fail(cccl_cache_step* step);
/* Frees the step. If it has no value, the next waiting process makes it. */
CCCL_CACHE_API void cccl_cache_step_free(cccl_cache_step* step);

typedef struct cccl_cache_steps_counts {
  size_t struct_size;
  uint64_t hits;      /* values that were found */
  uint64_t made;      /* values that this process made */
  uint64_t published; /* of these, those that the daemon has accepted */
  uint64_t released;  /* steps that another process failed to make while this one waited, and steps
                         inside a build for which the user may hold no further lease */
  uint64_t failed;    /* steps that this process failed to make */
  uint64_t expired;   /* steps that took longer than hold_ms */
  uint64_t hit_bytes;
  uint64_t made_bytes;
  uint64_t waited_us;           /* for the daemon, other processes and other threads */
  uint64_t saved_us;            /* the time of the hits' builds, less the wait for them */
  uint64_t errors;              /* of the daemon */
  cccl_cache_status last_error; /* CCCL_CACHE_PROTOCOL for a damaged deposit */
} cccl_cache_steps_counts;

/* Fills the struct with the counts of these steps in this process. */
CCCL_CACHE_API void cccl_cache_steps_describe(const cccl_cache_steps* steps,
                                              cccl_cache_steps_counts* counts);

#ifdef __cplusplus
}
#endif
