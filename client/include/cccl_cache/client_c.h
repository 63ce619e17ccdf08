/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The C interface of libcccl_cache.so.1. All other interfaces (C++, Python, Julia, the command
 * line) are thin layers over it.
 *
 *  - Handles are opaque. The caller frees a handle with the function of its name; freeing NULL does
 * nothing.
 *  - Bytes and texts are a pointer and a size. Those that the library returns are valid as long as
 * the handle they come from. Returned texts also end with a NUL, which the size does not count.
 * Texts passed in need no NUL at their end and must contain none; contents of files may contain
 * any bytes.
 *  - Structs begin with `struct_size`: set it to sizeof of the struct. A program therefore works
 * with a library that knows more fields, or fewer, than it does. All other fields may be zero.
 *  - Functions that can fail return a cccl_cache_status. If `error` is not NULL, a failure sets it
 * to an error with a message.
 *  - A client is thread-safe; a result is used by one thread at a time. The library installs no
 * signal handler and lets no exception out. It starts no thread, except the one of a held lease.
 * After fork() both processes may go on using the client.
 *  - A build that does not compile is not an error: its outcome says so. */

#include "cccl_cache/c/base.h"
#include "cccl_cache/c/batch.h"
#include "cccl_cache/c/build.h"
#include "cccl_cache/c/daemon.h"
#include "cccl_cache/c/lease.h"
#include "cccl_cache/c/link.h"
#include "cccl_cache/c/loaded.h"
#include "cccl_cache/c/query.h"
#include "cccl_cache/c/snapshot.h"
#include "cccl_cache/c/steps.h"
