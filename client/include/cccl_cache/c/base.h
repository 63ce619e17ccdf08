/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The library, its errors, and how a client is opened. Part of client_c.h, which says what holds
 * for all. */

#ifdef __cplusplus
extern "C" {
#endif

#define CCCL_CACHE_API __attribute__((visibility("default")))

/* Of these headers; cccl_cache_version() tells that of the library that was loaded. */
#define CCCL_CACHE_VERSION_MAJOR 0
#define CCCL_CACHE_VERSION_MINOR 1
#define CCCL_CACHE_VERSION_PATCH 0
/* One number to compare: 10203 is 1.2.3. */
#define CCCL_CACHE_VERSION \
  (CCCL_CACHE_VERSION_MAJOR * 10000 + CCCL_CACHE_VERSION_MINOR * 100 + CCCL_CACHE_VERSION_PATCH)

typedef struct cccl_cache_client cccl_cache_client;
typedef struct cccl_cache_error cccl_cache_error;

typedef struct cccl_cache_bytes {
  const char* data;
  size_t size;
} cccl_cache_bytes;

/* Numbers never change their meaning. */
typedef enum cccl_cache_status {
  CCCL_CACHE_OK = 0,
  CCCL_CACHE_NO_DAEMON = 1,       /* nobody listens on the socket, or no socket may be trusted */
  CCCL_CACHE_OVERLOADED = 2,      /* queue or quota full: see the error's retry hint */
  CCCL_CACHE_INVALID_REQUEST = 3, /* a field or option that can't be served; the text names it */
  CCCL_CACHE_TOOLCHAIN_NOT_FOUND = 4, /* the text lists those present */
  CCCL_CACHE_FILES_NEEDED =
      5,                    /* the build wants files that the daemon may not open for this user */
  CCCL_CACHE_DENIED = 6,    /* not allowed to this user */
  CCCL_CACHE_TIMED_OUT = 7, /* the daemon's own limit for one build passed */
  CCCL_CACHE_DEADLINE = 8,  /* the caller's timeout passed */
  CCCL_CACHE_WORKER_CRASHED = 9, /* the compiler died by its own signal */
  CCCL_CACHE_OUT_OF_MEMORY = 10, /* the compiler met its memory limit */
  CCCL_CACHE_CANCELLED = 11,     /* the daemon stopped the build */
  CCCL_CACHE_UNAVAILABLE = 12,   /* the daemon can't do it now, or the connection was lost */
  CCCL_CACHE_UPLOAD_NEEDED =
      14, /* what was sent ahead was forgotten twice; the library sends it again once */
  CCCL_CACHE_PROTOCOL = 13,  /* the other end does not speak as agreed */
  CCCL_CACHE_TOO_LARGE = 15, /* more than the daemon takes in one message, with the contents sent
                                ahead too */
  CCCL_CACHE_LEASE_LOST = 16 /* another client may hold it by now: acquire again */
} cccl_cache_status;

/* "0.1.0" */
CCCL_CACHE_API const char* cccl_cache_version(void);
/* "no-daemon", ...; never NULL. */
CCCL_CACHE_API const char* cccl_cache_status_name(cccl_cache_status status);

CCCL_CACHE_API cccl_cache_status cccl_cache_error_status(const cccl_cache_error* error);
/* The cause and the way out, for a person. */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_error_message(const cccl_cache_error* error);
/* When to come back, 0: no hint. */
CCCL_CACHE_API uint32_t cccl_cache_error_retry_after_ms(const cccl_cache_error* error);
CCCL_CACHE_API void cccl_cache_error_free(cccl_cache_error* error);

/* What becomes of a build that the daemon does not do: there is none, it refuses, its answer does
 * not come. What a compiler died of is not tried again here. */
typedef enum cccl_cache_fallback {
  CCCL_CACHE_FALLBACK_LOCAL = 0, /* compiled in a process of its own, with the same result */
  CCCL_CACHE_FALLBACK_ERROR = 1  /* it fails */
} cccl_cache_fallback;

typedef struct cccl_cache_open_options {
  size_t struct_size;
  /* Path of the daemon's socket, taken at its word. Empty: $CCCL_CACHE_SOCKET, else
   * $XDG_RUNTIME_DIR/cccl-cached/socket if present, else /run/cccl-cached/socket. The last two only
   * if nobody but root, the service's user or this user can write the directories they lie in; a
   * set-uid program ignores the environment. */
  cccl_cache_bytes socket;
  cccl_cache_fallback fallback;
  /* After so long without an answer from the daemon, in its queue, compiling or silent, a build is
   * compiled here. 0: no such bound. A daemon that does not even say that it is there, for 10 s or
   * half of what is left until the build's timeout, is given up in any case. */
  uint32_t local_after_ms;
  /* Path of cccl-cache-compile. Empty: where it was installed with this library. */
  cccl_cache_bytes local_compiler;
  /* 0: the first build of a process that is compiled here leaves a line on standard error. */
  int32_t quiet_fallback;
  /* How much this client keeps of the answers that it was given, so that it need not ask again
   * within the next 10 seconds: those only that nothing but the request and the toolchain's own
   * files went into. 0: $CCCL_CACHE_PROCESS_BYTES (a number of bytes, or "off"), else 64 MiB.
   * CCCL_CACHE_OFF: nothing. To be turned off by a program that enters another mount namespace or
   * root while it goes on with a client. */
  uint64_t process_cache_bytes;
} cccl_cache_open_options;

#define CCCL_CACHE_OFF UINT64_MAX

/* Chooses the socket; connects at the first call. `options` may be NULL. Where no socket may be
 * trusted, calls fail with CCCL_CACHE_NO_DAEMON, but for builds that are compiled here; with
 * CCCL_CACHE_FALLBACK_ERROR this does. */
CCCL_CACHE_API cccl_cache_status cccl_cache_open(const cccl_cache_open_options* options,
                                                 cccl_cache_client** client,
                                                 cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_bytes cccl_cache_client_socket(const cccl_cache_client* client);

/* What a client did by itself. */
typedef struct cccl_cache_client_info {
  size_t struct_size;
  uint64_t process_hits;    /* builds that were answered from what this process keeps */
  uint64_t process_entries; /* answers that it keeps now */
  uint64_t process_bytes;   /* which they take */
} cccl_cache_client_info;
CCCL_CACHE_API void cccl_cache_client_describe(const cccl_cache_client* client,
                                               cccl_cache_client_info* info);
/* No call of this client may be in progress. */
CCCL_CACHE_API void cccl_cache_close(cccl_cache_client* client);

#ifdef __cplusplus
}
#endif
