/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* The CUDA libraries that the process has loaded. Part of client_c.h. */

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the major version of the CUDA libraries loaded in this process, for
 * cccl_cache_build_options. It is that of libnvrtc if loaded, else libnvJitLink, else libcudart. If
 * two versions of one library are loaded, the first one loaded counts. 0: none is loaded. Loads
 * nothing. Takes well under a microsecond if no library was loaded since the last call. */
CCCL_CACHE_API uint32_t cccl_cache_loaded_cuda_major(void);

#ifdef __cplusplus
}
#endif
