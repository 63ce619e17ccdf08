// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "client/interpose/nvvm/program.h"

// The functions of libnvvm with the declarations that NVIDIA's releases have. The file nvvm.names
// lists the exports of each release.
#pragma GCC visibility push(default)
extern "C" {

using NvvmHandle = cccl_cache::interpose::NvvmHandle;
using NvvmResult = cccl_cache::interpose::NvvmResult;

NvvmResult nvvmVersion(int* major, int* minor);
NvvmResult nvvmIRVersion(int* major, int* minor, int* major_debug, int* minor_debug);
NvvmResult nvvmLLVMVersion(const char* architecture, int* major);
const char* nvvmGetErrorString(NvvmResult result);
NvvmResult nvvmCreateProgram(NvvmHandle* program);
NvvmResult nvvmDestroyProgram(NvvmHandle* program);
NvvmResult nvvmAddModuleToProgram(NvvmHandle program, const char* contents, size_t size,
                                  const char* name);
NvvmResult nvvmLazyAddModuleToProgram(NvvmHandle program, const char* contents, size_t size,
                                      const char* name);
NvvmResult nvvmCompileProgram(NvvmHandle program, int count, const char** options);
NvvmResult nvvmVerifyProgram(NvvmHandle program, int count, const char** options);
NvvmResult nvvmGetCompiledResultSize(NvvmHandle program, size_t* size);
NvvmResult nvvmGetCompiledResult(NvvmHandle program, char* out);
NvvmResult nvvmGetProgramLogSize(NvvmHandle program, size_t* size);
NvvmResult nvvmGetProgramLog(NvvmHandle program, char* out);
/// Undocumented, as are the two functions below.
NvvmResult nvvmDisableConcurrentAPI();
/// Both return pointers to internal functions, by number, or null. The public functions have
/// numbers too.
void* __nvvmHandle(unsigned function);
void* __nvvmHandleTarget(unsigned function, bool other);

}  // extern "C"
#pragma GCC visibility pop
