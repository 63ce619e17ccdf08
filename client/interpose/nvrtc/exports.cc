// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The functions of libnvrtc. Each answers as the real library does in the same state, misuse
// included; tests/integration/test_standin_calls.py compares them. What can't be answered from the
// daemon's result is asked of the real library.
#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "client/interpose/daemon.h"
#include "client/interpose/nvrtc/functions.h"
#include "client/interpose/nvrtc/program.h"
#include "client/interpose/real_library.h"

namespace {

using cccl_cache::interpose::NvrtcProgram;
using namespace cccl_cache::interpose;  // NOLINT: result codes, as NVRTC's header has them

NvrtcProgram* Of(NvrtcHandle handle) { return reinterpret_cast<NvrtcProgram*>(handle); }

/// Calls a function of the real library for which no program is needed.
template <typename... Parameters>
NvrtcResult Forward(NvrtcResult (*real)(Parameters...),
                    std::type_identity_t<Parameters>... values) {
  return real == nullptr ? kInternalError : real(values...);
}

template <typename... Parameters>
void* Forward(void* (*real)(Parameters...), std::type_identity_t<Parameters>... values) {
  return real == nullptr ? nullptr : real(values...);
}

/// `ending`: bytes behind the contents, which is a text's NUL.
NvrtcResult Size(std::string_view contents, size_t ending, size_t* size) {
  if (size == nullptr) return kInvalidInput;
  *size = contents.size() + ending;
  return kSuccess;
}

NvrtcResult Copy(std::string_view contents, size_t ending, char* out) {
  if (out == nullptr) return kInvalidInput;
  std::ranges::copy(contents, out);
  if (ending > 0) out[contents.size()] = '\0';
  return kSuccess;
}

}  // namespace

NvrtcResult nvrtcCreateProgram(NvrtcHandle* program, const char* source, const char* name,
                               int header_count, const char* const* headers,
                               const char* const* header_names) {
  if (program == nullptr) return kInvalidProgram;
  if (source == nullptr || header_count < 0) return kInvalidInput;
  if (header_count > 0 && (headers == nullptr || header_names == nullptr)) return kInvalidInput;
  std::vector<NvrtcProgram::Header> given;
  for (int i = 0; i < header_count; ++i) {
    if (headers[i] == nullptr || header_names[i] == nullptr) return kInvalidInput;
    given.push_back({header_names[i], headers[i]});
  }
  *program = reinterpret_cast<NvrtcHandle>(new NvrtcProgram(source, name, std::move(given)));
  return kSuccess;
}

NvrtcResult nvrtcDestroyProgram(NvrtcHandle* program) {
  if (program == nullptr || *program == nullptr) return kInvalidProgram;
  delete Of(*program);
  *program = nullptr;
  return kSuccess;
}

NvrtcResult nvrtcCompileProgram(NvrtcHandle program, int count, const char* const* options) {
  if (program == nullptr) return kInvalidProgram;
  return Of(program)->Compile(count, options);
}

NvrtcResult nvrtcAddNameExpression(NvrtcHandle program, const char* expression) {
  if (program == nullptr) return kInvalidProgram;
  if (NvrtcHandle real = Of(program)->real()) {
    return REAL(nvrtcAddNameExpression)(real, expression);
  }
  if (expression == nullptr) return kInvalidInput;
  if (!Of(program)->compiled()) return Of(program)->AddNameExpression(expression);
  // Whether that is too late depends on how the compile ended.
  const NvrtcResult made = Of(program)->Forward();
  return made != kSuccess ? made : REAL(nvrtcAddNameExpression)(Of(program)->real(), expression);
}

NvrtcResult nvrtcGetLoweredName(NvrtcHandle program, const char* expression, const char** lowered) {
  if (program == nullptr) return kInvalidProgram;
  if (NvrtcHandle real = Of(program)->real()) {
    return REAL(nvrtcGetLoweredName)(real, expression, lowered);
  }
  if (expression == nullptr || lowered == nullptr) return kInvalidInput;
  if (!Of(program)->succeeded()) return kNoLoweredNamesBeforeCompilation;
  const char* const found = Of(program)->LoweredName(expression);
  if (found == nullptr) return kNameExpressionNotValid;
  *lowered = found;
  return kSuccess;
}

// The size of what a compile gave, and its bytes.
#define GETTERS(Name, contents, ending)                                 \
  NvrtcResult nvrtcGet##Name##Size(NvrtcHandle program, size_t* size) { \
    if (program == nullptr) return kInvalidProgram;                     \
    if (NvrtcHandle real = Of(program)->real()) {                       \
      return REAL(nvrtcGet##Name##Size)(real, size);                    \
    }                                                                   \
    return Size(Of(program)->contents, ending, size);                   \
  }                                                                     \
  NvrtcResult nvrtcGet##Name(NvrtcHandle program, char* out) {          \
    if (program == nullptr) return kInvalidProgram;                     \
    if (NvrtcHandle real = Of(program)->real()) {                       \
      return REAL(nvrtcGet##Name)(real, out);                           \
    }                                                                   \
    return Copy(Of(program)->contents, ending, out);                    \
  }
GETTERS(PTX, Artifact(CCCL_CACHE_PTX), 1)
GETTERS(CUBIN, Artifact(CCCL_CACHE_CUBIN), 0)
GETTERS(NVVM, Artifact(CCCL_CACHE_LTOIR), 0)
GETTERS(LTOIR, Artifact(CCCL_CACHE_LTOIR), 0)
GETTERS(OptiXIR, Artifact(CCCL_CACHE_OPTIXIR), 0)
// The daemon refuses the options that make it.
GETTERS(TileIR, Artifact({}), 0)
GETTERS(ProgramLog, log(), 1)

NvrtcResult nvrtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return kInvalidInput;
  const Version known = RealVersion();
  if (known.major == 0) return Forward(REAL(nvrtcVersion), major, minor);
  *major = known.major;
  *minor = known.minor;
  return kSuccess;
}

const char* nvrtcGetErrorString(NvrtcResult result) {
  const auto real = REAL(nvrtcGetErrorString);
  return real == nullptr ? "NVRTC_ERROR unknown" : real(result);
}

NvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  if (count == nullptr) return kInvalidInput;
  const std::vector<int> known = Architectures();
  if (known.empty()) return Forward(REAL(nvrtcGetNumSupportedArchs), count);
  *count = static_cast<int>(known.size());
  return kSuccess;
}

NvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  if (architectures == nullptr) return kInvalidInput;
  const std::vector<int> known = Architectures();
  if (known.empty()) return Forward(REAL(nvrtcGetSupportedArchs), architectures);
  std::ranges::copy(known, architectures);
  return kSuccess;
}

NvrtcResult nvrtcSetFlowCallback(NvrtcHandle program, int (*callback)(void*, void*),
                                 void* payload) {
  if (program == nullptr) return kInvalidProgram;
  const NvrtcResult made = Of(program)->Forward();
  if (made != kSuccess) return made;
  return REAL(nvrtcSetFlowCallback)(Of(program)->real(), callback, payload);
}

NvrtcResult nvrtcGetPCHCreateStatus(NvrtcHandle program) {
  if (program == nullptr) return kInvalidProgram;
  NvrtcHandle real = Of(program)->real();
  return real != nullptr ? REAL(nvrtcGetPCHCreateStatus)(real) : kNoPchCreateAttempted;
}

NvrtcResult nvrtcGetPCHHeapSizeRequired(NvrtcHandle program, size_t* size) {
  if (program == nullptr) return kInvalidProgram;
  if (NvrtcHandle real = Of(program)->real()) {
    return REAL(nvrtcGetPCHHeapSizeRequired)(real, size);
  }
  return Size("", 0, size);
}

NvrtcResult nvrtcGetPCHHeapSize(size_t* size) { return Forward(REAL(nvrtcGetPCHHeapSize), size); }
NvrtcResult nvrtcSetPCHHeapSize(size_t size) { return Forward(REAL(nvrtcSetPCHHeapSize), size); }

#define FORWARDED(name)                                              \
  void* name(void* a, void* b, void* c, void* d, void* e, void* f) { \
    return Forward(REAL(name), a, b, c, d, e, f);                    \
  }
FORWARDED(nvrtcInstallBundledHeaders)
FORWARDED(nvrtcGetBundledHeadersInfo)
FORWARDED(nvrtcRemoveBundledHeaders)
FORWARDED(__nvrtcCPEx)
FORWARDED(__nvrtcNvvmHandle)
