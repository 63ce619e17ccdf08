// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The exported functions of libnvrtc. In each state, also after misuse, a function answers like the
// function of the real library. tests/integration/test_standin_calls.py compares the answers. A
// call goes to the real library if the daemon's result can't answer it. All calls for a program
// that the real library created also go there.
#include <algorithm>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/cancellation.h"
#include "client/interpose/daemon.h"
#include "client/interpose/handles.h"
#include "client/interpose/nvrtc/functions.h"
#include "client/interpose/nvrtc/program.h"
#include "client/interpose/real_library.h"

namespace {

using cccl_cache::CancellationDisabled;
using cccl_cache::interpose::NvrtcProgram;
using namespace cccl_cache::interpose;  // NOLINT: result codes, as NVRTC's header has them

constinit Handles<NvrtcHandle, NvrtcProgram> programs;

/// Returns the stand-in's object of the program. Null if the program was destroyed or belongs to
/// the real library.
NvrtcProgram* Of(NvrtcHandle handle) { return programs.Find(handle); }

bool IsProgram(NvrtcHandle handle) {
  return handle != nullptr && (!programs.Owns(handle) || Of(handle) != nullptr);
}

/// Returns the handle of the real library's program that must answer. Null if the daemon's result
/// answers instead.
NvrtcHandle RealOf(NvrtcHandle program) {
  const NvrtcProgram* const own = Of(program);
  return own == nullptr ? program : own->real();
}

/// Creates the program in the real library and repeats all calls so far. Does nothing for a program
/// that the real library created.
NvrtcResult MakeReal(NvrtcHandle program) {
  NvrtcProgram* const own = Of(program);
  return own == nullptr ? kSuccess : own->Forward();
}

/// Calls a function of the real library. Fails if the library does not have the function.
template <typename... Parameters>
NvrtcResult Forward(NvrtcResult (*real)(Parameters...),
                    std::type_identity_t<Parameters>... values) {
  return real == nullptr ? kInternalError : real(values...);
}

template <typename... Parameters>
void* Forward(void* (*real)(Parameters...), std::type_identity_t<Parameters>... values) {
  return real == nullptr ? nullptr : real(values...);
}

/// After a failed compile, moves the program into the real library: a failed compile may still have
/// produced artifacts, which the daemon does not return.
NvrtcResult AfterFailure(NvrtcHandle program) {
  const NvrtcProgram* const own = Of(program);
  const bool failed = own != nullptr && own->compiled() && !own->succeeded();
  return failed ? MakeReal(program) : kSuccess;
}
NvrtcResult AsItIs(NvrtcHandle) { return kSuccess; }

/// Stores the size of the contents. `ending` is the number of bytes after them: 1 for a text's NUL.
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

bool OneIsTwice(const char* const* names, int count) {
  std::vector<std::string_view> sorted(names, names + count);
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) != sorted.end();
}

}  // namespace

NvrtcResult nvrtcCreateProgram(NvrtcHandle* program, const char* source, const char* name,
                               int header_count, const char* const* headers,
                               const char* const* header_names) {
  const CancellationDisabled guard;
  if (program == nullptr) return kInvalidProgram;
  if (source == nullptr || header_count < 0) return kInvalidInput;
  if (header_count > 0 && (headers == nullptr || header_names == nullptr)) return kInvalidInput;
  std::vector<NvrtcProgram::Header> given;
  for (int i = 0; i < header_count; ++i) {
    if (headers[i] == nullptr || header_names[i] == nullptr) return kInvalidInput;
    given.push_back({header_names[i], headers[i]});
  }
  if (OneIsTwice(header_names, header_count)) {
    return Forward(REAL(nvrtcCreateProgram), program, source, name, header_count, headers,
                   header_names);
  }
  auto made = std::make_unique<NvrtcProgram>(source, name, std::move(given));
  if (NvrtcHandle handle = programs.Add(std::move(made))) {
    *program = handle;
    return kSuccess;
  }
  return Forward(REAL(nvrtcCreateProgram), program, source, name, header_count, headers,
                 header_names);
}

NvrtcResult nvrtcDestroyProgram(NvrtcHandle* program) {
  const CancellationDisabled guard;
  if (program == nullptr || !IsProgram(*program)) return kInvalidProgram;
  if (!programs.Owns(*program)) return Forward(REAL(nvrtcDestroyProgram), program);
  programs.Remove(*program).reset();
  *program = nullptr;
  return kSuccess;
}

NvrtcResult nvrtcCompileProgram(NvrtcHandle program, int count, const char* const* options) {
  decltype(&nvrtcCompileProgram) compile = nullptr;
  NvrtcHandle real = nullptr;
  {
    const CancellationDisabled guard;
    if (!IsProgram(program)) return kInvalidProgram;
    OpenWithOwnBuiltins();
    real = RealOf(program);
    if (real == nullptr) return Of(program)->Compile(count, options);
    CountedCall call;
    call.Forward(Reason::kNotServed);
    compile = REAL(nvrtcCompileProgram);
  }
  // The program's flow callback may throw an exception through this frame. So the call is outside
  // of the block above, where no objects need to be destroyed.
  return Forward(compile, real, count, options);
}

NvrtcResult nvrtcAddNameExpression(NvrtcHandle program, const char* expression) {
  const CancellationDisabled guard;
  if (!IsProgram(program)) return kInvalidProgram;
  if (NvrtcHandle real = RealOf(program)) {
    return Forward(REAL(nvrtcAddNameExpression), real, expression);
  }
  if (expression == nullptr) return kInvalidInput;
  if (!Of(program)->compiled()) return Of(program)->AddNameExpression(expression);
  // After a compile, the call fails or not depending on how the compile ended. The real library
  // decides.
  const NvrtcResult made = MakeReal(program);
  return made != kSuccess ? made : REAL(nvrtcAddNameExpression)(RealOf(program), expression);
}

NvrtcResult nvrtcGetLoweredName(NvrtcHandle program, const char* expression, const char** lowered) {
  const CancellationDisabled guard;
  if (!IsProgram(program)) return kInvalidProgram;
  if (NvrtcHandle real = RealOf(program)) {
    return Forward(REAL(nvrtcGetLoweredName), real, expression, lowered);
  }
  if (expression == nullptr || lowered == nullptr) return kInvalidInput;
  if (!Of(program)->succeeded()) return kNoLoweredNamesBeforeCompilation;
  const char* const found = Of(program)->LoweredName(expression);
  if (found == nullptr) return kNameExpressionNotValid;
  *lowered = found;
  return kSuccess;
}

// Defines the functions that return the size and the bytes of a compile's output. They first call
// `prepare(program)`, which may move the program into the real library.
#define GETTERS(Name, prepare, contents, ending)                                             \
  NvrtcResult nvrtcGet##Name##Size(NvrtcHandle program, size_t* size) {                      \
    const CancellationDisabled guard;                                                        \
    if (!IsProgram(program)) return kInvalidProgram;                                         \
    if (const NvrtcResult made = prepare(program); made != kSuccess) return made;            \
    if (NvrtcHandle real = RealOf(program)) {                                                \
      return Forward(REAL(nvrtcGet##Name##Size), real, size);                                \
    }                                                                                        \
    return Size(Of(program)->contents, ending, size);                                        \
  }                                                                                          \
  NvrtcResult nvrtcGet##Name(NvrtcHandle program, char* out) {                               \
    const CancellationDisabled guard;                                                        \
    if (!IsProgram(program)) return kInvalidProgram;                                         \
    if (const NvrtcResult made = prepare(program); made != kSuccess) return made;            \
    if (NvrtcHandle real = RealOf(program)) return Forward(REAL(nvrtcGet##Name), real, out); \
    return Copy(Of(program)->contents, ending, out);                                         \
  }
GETTERS(PTX, AfterFailure, Artifact(CCCL_CACHE_PTX), 1)
GETTERS(CUBIN, AfterFailure, Artifact(CCCL_CACHE_CUBIN), 0)
GETTERS(NVVM, AfterFailure, Artifact(CCCL_CACHE_LTOIR), 0)
GETTERS(LTOIR, AfterFailure, Artifact(CCCL_CACHE_LTOIR), 0)
GETTERS(OptiXIR, AfterFailure, Artifact(CCCL_CACHE_OPTIXIR), 0)
// The daemon refuses the options that produce Tile IR, so its result never contains any.
GETTERS(TileIR, AfterFailure, Artifact({}), 0)
GETTERS(ProgramLog, AsItIs, log(), 1)

NvrtcResult nvrtcVersion(int* major, int* minor) {
  const CancellationDisabled guard;
  return Forward(REAL(nvrtcVersion), major, minor);
}

const char* nvrtcGetErrorString(NvrtcResult result) {
  const CancellationDisabled guard;
  const auto real = REAL(nvrtcGetErrorString);
  return real == nullptr ? "NVRTC_ERROR unknown" : real(result);
}

NvrtcResult nvrtcGetNumSupportedArchs(int* count) {
  const CancellationDisabled guard;
  return Forward(REAL(nvrtcGetNumSupportedArchs), count);
}

NvrtcResult nvrtcGetSupportedArchs(int* architectures) {
  const CancellationDisabled guard;
  return Forward(REAL(nvrtcGetSupportedArchs), architectures);
}

NvrtcResult nvrtcSetFlowCallback(NvrtcHandle program, int (*callback)(void*, void*),
                                 void* payload) {
  const CancellationDisabled guard;
  if (!IsProgram(program)) return kInvalidProgram;
  const NvrtcResult made = MakeReal(program);
  if (made != kSuccess) return made;
  return Forward(REAL(nvrtcSetFlowCallback), RealOf(program), callback, payload);
}

NvrtcResult nvrtcGetPCHCreateStatus(NvrtcHandle program) {
  const CancellationDisabled guard;
  if (!IsProgram(program)) return kInvalidProgram;
  NvrtcHandle real = RealOf(program);
  return real != nullptr ? Forward(REAL(nvrtcGetPCHCreateStatus), real) : kNoPchCreateAttempted;
}

NvrtcResult nvrtcGetPCHHeapSizeRequired(NvrtcHandle program, size_t* size) {
  const CancellationDisabled guard;
  if (!IsProgram(program)) return kInvalidProgram;
  if (NvrtcHandle real = RealOf(program)) {
    return Forward(REAL(nvrtcGetPCHHeapSizeRequired), real, size);
  }
  return Size("", 0, size);
}

NvrtcResult nvrtcGetPCHHeapSize(size_t* size) {
  const CancellationDisabled guard;
  return Forward(REAL(nvrtcGetPCHHeapSize), size);
}

NvrtcResult nvrtcSetPCHHeapSize(size_t size) {
  const CancellationDisabled guard;
  return Forward(REAL(nvrtcSetPCHHeapSize), size);
}

NvrtcResult nvrtcInstallBundledHeaders(const char* path, unsigned flags, const char** log) {
  const CancellationDisabled guard;
  return Forward(REAL(nvrtcInstallBundledHeaders), path, flags, log);
}

NvrtcResult nvrtcGetBundledHeadersInfo(void* info, const char** log) {
  const CancellationDisabled guard;
  return Forward(REAL(nvrtcGetBundledHeadersInfo), info, log);
}

NvrtcResult nvrtcRemoveBundledHeaders(const char* path, const char** log) {
  const CancellationDisabled guard;
  return Forward(REAL(nvrtcRemoveBundledHeaders), path, log);
}

NvrtcResult __nvrtcCPEx(NvrtcHandle* program, const char* source, const char* name,
                        int header_count, const char* const* headers,
                        const char* const* header_names, int extension_count, const int* extensions,
                        void* const* values) {
  const CancellationDisabled guard;
  // The real library also handles all later calls for this program: the source may be encoded.
  return Forward(REAL(__nvrtcCPEx), program, source, name, header_count, headers, header_names,
                 extension_count, extensions, values);
}

void* __nvrtcNvvmHandle(unsigned function) {
  const CancellationDisabled guard;
  return Forward(REAL(__nvrtcNvvmHandle), function);
}
