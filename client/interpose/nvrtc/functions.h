// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "client/interpose/nvrtc/program.h"

// The functions of libnvrtc with the declarations that NVIDIA's releases have. The file nvrtc.names
// lists the exports of each release.
#pragma GCC visibility push(default)
extern "C" {

using NvrtcHandle = cccl_cache::interpose::NvrtcHandle;
using NvrtcResult = cccl_cache::interpose::NvrtcResult;

NvrtcResult nvrtcVersion(int* major, int* minor);
const char* nvrtcGetErrorString(NvrtcResult result);
NvrtcResult nvrtcGetNumSupportedArchs(int* count);
NvrtcResult nvrtcGetSupportedArchs(int* architectures);
NvrtcResult nvrtcCreateProgram(NvrtcHandle* program, const char* source, const char* name,
                               int header_count, const char* const* headers,
                               const char* const* header_names);
NvrtcResult nvrtcDestroyProgram(NvrtcHandle* program);
NvrtcResult nvrtcCompileProgram(NvrtcHandle program, int count, const char* const* options);
NvrtcResult nvrtcAddNameExpression(NvrtcHandle program, const char* expression);
NvrtcResult nvrtcGetLoweredName(NvrtcHandle program, const char* expression, const char** lowered);
NvrtcResult nvrtcGetPTXSize(NvrtcHandle program, size_t* size);
NvrtcResult nvrtcGetPTX(NvrtcHandle program, char* out);
NvrtcResult nvrtcGetCUBINSize(NvrtcHandle program, size_t* size);
NvrtcResult nvrtcGetCUBIN(NvrtcHandle program, char* out);
NvrtcResult nvrtcGetNVVMSize(NvrtcHandle program, size_t* size);
NvrtcResult nvrtcGetNVVM(NvrtcHandle program, char* out);
NvrtcResult nvrtcGetLTOIRSize(NvrtcHandle program, size_t* size);
NvrtcResult nvrtcGetLTOIR(NvrtcHandle program, char* out);
NvrtcResult nvrtcGetOptiXIRSize(NvrtcHandle program, size_t* size);
NvrtcResult nvrtcGetOptiXIR(NvrtcHandle program, char* out);
NvrtcResult nvrtcGetTileIRSize(NvrtcHandle program, size_t* size);
NvrtcResult nvrtcGetTileIR(NvrtcHandle program, char* out);
NvrtcResult nvrtcGetProgramLogSize(NvrtcHandle program, size_t* size);
NvrtcResult nvrtcGetProgramLog(NvrtcHandle program, char* out);
NvrtcResult nvrtcSetFlowCallback(NvrtcHandle program, int (*callback)(void*, void*), void* payload);
NvrtcResult nvrtcGetPCHCreateStatus(NvrtcHandle program);
NvrtcResult nvrtcGetPCHHeapSizeRequired(NvrtcHandle program, size_t* size);
NvrtcResult nvrtcGetPCHHeapSize(size_t* size);
NvrtcResult nvrtcSetPCHHeapSize(size_t size);
NvrtcResult nvrtcInstallBundledHeaders(const char* path, unsigned flags, const char** log);
NvrtcResult nvrtcGetBundledHeadersInfo(void* info, const char** log);
NvrtcResult nvrtcRemoveBundledHeaders(const char* path, const char** log);
// Two undocumented functions. cuDNN creates its programs with __nvrtcCPEx, which is
// nvrtcCreateProgram with additional extensions (their number, ids and values). __nvrtcNvvmHandle
// returns a pointer to the function of libNVVM with the given number.
NvrtcResult __nvrtcCPEx(NvrtcHandle* program, const char* source, const char* name,
                        int header_count, const char* const* headers,
                        const char* const* header_names, int extension_count, const int* extensions,
                        void* const* values);
void* __nvrtcNvvmHandle(unsigned function);

}  // extern "C"
#pragma GCC visibility pop
