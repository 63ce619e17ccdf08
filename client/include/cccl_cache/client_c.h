/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The C interface of libcccl_cache.so.1: everything else (C++, Python, Julia, the command line) is
 * thin over it.
 *
 *  - Handles are opaque. Who gets one frees it with the function of its name; freeing NULL does
 * nothing.
 *  - Bytes and texts are a pointer and a size. Those that the library hands out live as long as the
 * handle they were asked from; texts among them end with a NUL as well, which the size does not
 * count. Texts that are handed in need no NUL at their end and must contain none; contents of files
 * may contain anything.
 *  - Structs begin with `struct_size`: set it to sizeof of the struct. So a program works with a
 * library that knows more fields, or fewer, than it does. Everything else may be zero.
 *  - Functions that can fail return a cccl_cache_status and leave, where `error` is not NULL, an
 * error with text.
 *  - A client may be used by any number of threads at once. No thread is started, no signal handler
 * installed, no exception leaves. After fork() both processes may go on using the client; a result
 * is used by one thread at a time. A build that does not compile is not an error: its outcome says
 * so. */

#include "cccl_cache/c/base.h"
#include "cccl_cache/c/batch.h"
#include "cccl_cache/c/build.h"
#include "cccl_cache/c/daemon.h"
#include "cccl_cache/c/explain.h"
#include "cccl_cache/c/lease.h"
#include "cccl_cache/c/link.h"
#include "cccl_cache/c/loaded.h"
#include "cccl_cache/c/snapshot.h"
