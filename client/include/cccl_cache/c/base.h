/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The library's version, errors, and opening a client. Part of client_c.h, which states the rules
 * that all functions share. */

#ifdef __cplusplus
extern "C" {
#endif

#define CCCL_CACHE_API __attribute__((visibility("default")))

/* The version of these headers. cccl_cache_version() returns that of the loaded library. */
#define CCCL_CACHE_VERSION_MAJOR 0
#define CCCL_CACHE_VERSION_MINOR 1
#define CCCL_CACHE_VERSION_PATCH 0
/* 2 in the second release candidate, 1.2.3-rc2. 0 in a release. */
#define CCCL_CACHE_VERSION_CANDIDATE 0
/* One number to compare: 10203 is 1.2.3 and each of its candidates. */
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
  CCCL_CACHE_NO_DAEMON = 1,           /* no daemon listens on the socket, or no socket is trusted */
  CCCL_CACHE_OVERLOADED = 2,          /* queue or quota full: see the error's retry hint */
  CCCL_CACHE_INVALID_REQUEST = 3,     /* a field or option can't be served; the message names it */
  CCCL_CACHE_TOOLCHAIN_NOT_FOUND = 4, /* the message lists the installed ones */
  CCCL_CACHE_FILES_NEEDED =
      5,                    /* the build needs files that the daemon may not open for this user */
  CCCL_CACHE_DENIED = 6,    /* this user may not do that */
  CCCL_CACHE_TIMED_OUT = 7, /* the daemon's own limit for one build passed */
  CCCL_CACHE_DEADLINE = 8,  /* the caller's timeout passed */
  CCCL_CACHE_WORKER_CRASHED = 9, /* the compiler died by its own signal */
  CCCL_CACHE_OUT_OF_MEMORY = 10, /* the compiler exceeded its memory limit */
  CCCL_CACHE_CANCELLED = 11,     /* the daemon stopped the build */
  CCCL_CACHE_UNAVAILABLE = 12,   /* temporary, or the connection was lost */
  CCCL_CACHE_UPLOAD_NEEDED =
      14, /* the daemon dropped the uploads twice; the library uploads again once */
  CCCL_CACHE_PROTOCOL = 13,   /* the other end violates the protocol */
  CCCL_CACHE_TOO_LARGE = 15,  /* exceeds the daemon's limit of one message, even with uploaded
                                 contents */
  CCCL_CACHE_LEASE_LOST = 16, /* another client may hold the lease: acquire again */
  CCCL_CACHE_NOT_CACHED = 17  /* a miss, and on_miss forbids the compile */
} cccl_cache_status;

/* Returns the library's version, for example "1.2.3" or "1.2.3-rc2". Static storage. */
CCCL_CACHE_API const char* cccl_cache_version(void);
/* Returns the status's name, for example "no-daemon". Never NULL; static storage. */
CCCL_CACHE_API const char* cccl_cache_status_name(cccl_cache_status status);

CCCL_CACHE_API cccl_cache_status cccl_cache_error_status(const cccl_cache_error* error);
/* Returns the cause and the remedy, for people. Valid as long as the error. */
CCCL_CACHE_API cccl_cache_bytes cccl_cache_error_message(const cccl_cache_error* error);
/* Returns after how many milliseconds to retry. 0: no hint. */
CCCL_CACHE_API uint32_t cccl_cache_error_retry_after_ms(const cccl_cache_error* error);
CCCL_CACHE_API void cccl_cache_error_free(cccl_cache_error* error);

/* Says what happens to a build that the daemon does not complete: no daemon is there, it refuses,
 * or its answer does not come. An input that crashed a compiler is not compiled again in the
 * client. */
typedef enum cccl_cache_fallback {
  CCCL_CACHE_FALLBACK_LOCAL = 0, /* compiled by a child process, with the same result */
  CCCL_CACHE_FALLBACK_ERROR = 1  /* the build fails */
} cccl_cache_fallback;

typedef struct cccl_cache_open_options {
  size_t struct_size;
  /* Path of the daemon's socket, used without checks. Empty: $CCCL_CACHE_SOCKET, else
   * $XDG_RUNTIME_DIR/cccl-cached/socket or ~/.cccl-cached/socket-BOOT if present (BOOT: 16 digits
   * of the kernel's boot id), else /run/cccl-cached/socket. If several of these three are present,
   * the first is used on which a daemon listens. They are used only if no user other than root, the
   * service's user and this user can write their directories, or owns a link on the way. A set-uid
   * program ignores the environment. */
  cccl_cache_bytes socket;
  cccl_cache_fallback fallback;
  /* If the daemon has not answered a build after this many milliseconds, the client compiles it.
   * Time in the queue, compile time and silence all count. 0: no such limit. In any case the client
   * gives up on a daemon that does not answer HTTP/2 PING for 10 s, or for half of the time left
   * until the build's timeout. */
  uint32_t local_after_ms;
  /* Path of cccl-cache-compile. Empty: the one installed with this library. */
  cccl_cache_bytes local_compiler;
  /* 0: the first build that a process compiles without the daemon writes a line to standard error.
   */
  int32_t quiet_fallback;
  /* Capacity in bytes of the client's own cache of results. The client reuses a result for 10
   * seconds without asking the daemon. It keeps only results that depend on nothing but the request
   * and the toolchain's own files. 0: $CCCL_CACHE_PROCESS_BYTES (a number of bytes, or "off"), else
   * 64 MiB. CCCL_CACHE_OFF: no cache. Turn it off in a program that enters another mount namespace
   * or root and keeps using the client. */
  uint64_t process_cache_bytes;
  /* The client gives up on a daemon that is silent for this many milliseconds: after half of them
   * without a byte it sends an HTTP/2 PING, and waits the other half. A call then fails with
   * CCCL_CACHE_UNAVAILABLE, however much time a compile still has. 0: 10 s, and never more than
   * that. */
  uint32_t silence_ms;
} cccl_cache_open_options;

#define CCCL_CACHE_OFF UINT64_MAX

/* Opens a client: chooses the socket, and connects at the first call. `options` may be NULL. If no
 * socket is trusted, calls fail with CCCL_CACHE_NO_DAEMON, except builds that the fallback
 * compiles. With CCCL_CACHE_FALLBACK_ERROR this function itself fails. */
CCCL_CACHE_API cccl_cache_status cccl_cache_open(const cccl_cache_open_options* options,
                                                 cccl_cache_client** client,
                                                 cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_bytes cccl_cache_client_socket(const cccl_cache_client* client);

/* Counters of the client's own cache. */
typedef struct cccl_cache_client_info {
  size_t struct_size;
  uint64_t process_hits;    /* builds answered from this client's cache */
  uint64_t process_entries; /* results in the cache now */
  uint64_t process_bytes;   /* size of these results */
} cccl_cache_client_info;
CCCL_CACHE_API void cccl_cache_client_describe(const cccl_cache_client* client,
                                               cccl_cache_client_info* info);
/* Closes and frees the client. No call of this client may be in progress. */
CCCL_CACHE_API void cccl_cache_close(cccl_cache_client* client);

#ifdef __cplusplus
}
#endif
