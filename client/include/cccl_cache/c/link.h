/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cccl_cache/c/build.h"

/* Links and NVVM IR. Part of client_c.h. */

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cccl_cache_link_input_type {
  CCCL_CACHE_INPUT_ANY = 0, /* detected from the contents */
  CCCL_CACHE_INPUT_CUBIN = 1,
  CCCL_CACHE_INPUT_PTX = 2,
  CCCL_CACHE_INPUT_LTOIR = 3,
  CCCL_CACHE_INPUT_FATBIN = 4,
  CCCL_CACHE_INPUT_OBJECT = 5,
  CCCL_CACHE_INPUT_LIBRARY = 6
} cccl_cache_link_input_type;

typedef struct cccl_cache_link_input {
  cccl_cache_link_input_type type;
  cccl_cache_bytes name;
  cccl_cache_bytes contents;
} cccl_cache_link_input;

/* A link with nvJitLink. Inputs are LTO-IR, PTX, cubins, fatbins, objects and libraries, in link
 * order. */
typedef struct cccl_cache_link {
  size_t struct_size;
  const cccl_cache_link_input* inputs;
  size_t input_count;
  const cccl_cache_bytes* options;
  size_t option_count;
} cccl_cache_link;

typedef struct cccl_cache_nvvm_module {
  cccl_cache_bytes name;
  cccl_cache_bytes contents;
  int32_t lazy; /* not 0: added as nvvmLazyAddModuleToProgram does */
} cccl_cache_nvvm_module;

/* A libNVVM program. The modules are added in this order. */
typedef struct cccl_cache_nvvm {
  size_t struct_size;
  const cccl_cache_nvvm_module* modules;
  size_t module_count;
  const cccl_cache_bytes* options;
  size_t option_count;
  int32_t add_libdevice; /* not 0: adds the toolchain's libdevice lazily after the modules */
} cccl_cache_nvvm;

/* Like cccl_cache_build_nvrtc. */
CCCL_CACHE_API cccl_cache_status cccl_cache_build_link(cccl_cache_client* client,
                                                       const cccl_cache_link* program,
                                                       const cccl_cache_build_options* options,
                                                       cccl_cache_result** result,
                                                       cccl_cache_error** error);
CCCL_CACHE_API cccl_cache_status cccl_cache_build_nvvm(cccl_cache_client* client,
                                                       const cccl_cache_nvvm* program,
                                                       const cccl_cache_build_options* options,
                                                       cccl_cache_result** result,
                                                       cccl_cache_error** error);
/* Like cccl_cache_ask_nvrtc. */
CCCL_CACHE_API cccl_cache_status cccl_cache_ask_link(cccl_cache_client* client,
                                                     const cccl_cache_link* program,
                                                     const cccl_cache_build_options* options,
                                                     cccl_cache_answer* answer);
CCCL_CACHE_API cccl_cache_status cccl_cache_ask_nvvm(cccl_cache_client* client,
                                                     const cccl_cache_nvvm* program,
                                                     const cccl_cache_build_options* options,
                                                     cccl_cache_answer* answer);

#ifdef __cplusplus
}
#endif
