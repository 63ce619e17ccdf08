/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/base.h"

/* What the process has loaded. Part of client_c.h. */

#ifdef __cplusplus
extern "C" {
#endif

/* The major of the CUDA libraries in this process, for cccl_cache_build_options: libnvrtc's if it
 * is loaded, else libnvJitLink's, else libcudart's; of two such libraries the one loaded first. 0:
 * none is loaded. Loads nothing and costs well under a microsecond where nothing was loaded since
 * it was last asked. */
CCCL_CACHE_API uint32_t cccl_cache_loaded_cuda_major(void);

#ifdef __cplusplus
}
#endif
