// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The exported functions of libnvvm. Programs get the real library's handles, and the real library
// gets every call but a compile that the daemon does. tests/integration/test_standin_nvvm.py
// compares the answers of the stand-in with those of the real library.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string_view>
#include <type_traits>

#include "base/cancellation.h"
#include "client/interpose/nvvm/functions.h"
#include "client/interpose/nvvm/program.h"
#include "client/interpose/real_handles.h"
#include "client/interpose/real_library.h"

namespace {

using cccl_cache::CancellationDisabled;
using cccl_cache::interpose::CountedCall;
using cccl_cache::interpose::NvvmProgram;
using cccl_cache::interpose::RealHandles;
using cccl_cache::interpose::Reason;

constexpr NvvmResult kSuccess = 0;
constexpr NvvmResult kFailure = 1;  ///< NVVM_ERROR_OUT_OF_MEMORY: the real library can't be loaded

constinit RealHandles<NvvmHandle, NvvmProgram> programs;
/// Whether this process has pointers to internal functions, with which it may do anything to its
/// programs. Then the real library compiles.
std::atomic<bool> has_internal_functions{false};

/// Calls a function of the real library. Fails if the library does not have the function.
template <typename... Parameters>
NvvmResult Forward(NvvmResult (*real)(Parameters...), std::type_identity_t<Parameters>... values) {
  return real == nullptr ? kFailure : real(values...);
}

/// Returns the program if the daemon's result answers a call for it that stores to `out`, else
/// null. The real library then answers.
const NvvmProgram* Serving(NvvmHandle handle, const void* out) {
  NvvmProgram* const program = programs.Find(handle);
  if (program == nullptr || !program->served()) return nullptr;
  if (out != nullptr && !has_internal_functions) return program;
  program->Forward();
  return nullptr;
}

/// Adds a module by one of two functions of the real library.
NvvmResult AddModule(decltype(&nvvmAddModuleToProgram) real, bool lazy, NvvmHandle handle,
                     const char* contents, size_t size, const char* name) {
  const NvvmResult code = Forward(real, handle, contents, size, name);
  NvvmProgram* const program = programs.Find(handle);
  if (program == nullptr) return code;
  if (code == kSuccess) program->Added(contents, size, name, lazy);
  if (code != kSuccess) program->BecameUnusual();
  return code;
}

NvvmResult StoreSize(std::string_view bytes, size_t* size) {
  *size = bytes.size();
  return kSuccess;
}

NvvmResult Copy(std::string_view bytes, char* out) {
  std::ranges::copy(bytes, out);
  return kSuccess;
}

std::string_view WithNul(std::string_view text) { return {text.data(), text.size() + 1}; }

void* InternalFunction(void* function) {
  if (function != nullptr) has_internal_functions = true;
  return function;
}

}  // namespace

NvvmResult nvvmCreateProgram(NvvmHandle* program) {
  const CancellationDisabled guard;
  const NvvmResult code = Forward(REAL(nvvmCreateProgram), program);
  if (code == kSuccess) programs.Add(*program, std::make_unique<NvvmProgram>(*program));
  return code;
}

NvvmResult nvvmDestroyProgram(NvvmHandle* program) {
  const CancellationDisabled guard;
  if (program != nullptr) programs.Remove(*program);
  return Forward(REAL(nvvmDestroyProgram), program);
}

NvvmResult nvvmAddModuleToProgram(NvvmHandle program, const char* contents, size_t size,
                                  const char* name) {
  const CancellationDisabled guard;
  return AddModule(REAL(nvvmAddModuleToProgram), false, program, contents, size, name);
}

NvvmResult nvvmLazyAddModuleToProgram(NvvmHandle program, const char* contents, size_t size,
                                      const char* name) {
  const CancellationDisabled guard;
  return AddModule(REAL(nvvmLazyAddModuleToProgram), true, program, contents, size, name);
}

NvvmResult nvvmCompileProgram(NvvmHandle program, int count, const char** options) {
  const CancellationDisabled guard;
  NvvmProgram* const own = programs.Find(program);
  if (own != nullptr && has_internal_functions) own->BecameUnusual();
  if (own != nullptr) return own->Compile(count, options);
  CountedCall call;
  call.Forward(Reason::kNotServed);
  return Forward(REAL(nvvmCompileProgram), program, count, options);
}

NvvmResult nvvmVerifyProgram(NvvmHandle program, int count, const char** options) {
  const CancellationDisabled guard;
  NvvmProgram* const own = programs.Find(program);
  if (own != nullptr) own->Forward();
  const NvvmResult code = Forward(REAL(nvvmVerifyProgram), program, count, options);
  size_t log = 0;
  const size_t empty = 1;  // the NUL
  if (own != nullptr &&
      (code != kSuccess || REAL(nvvmGetProgramLogSize)(program, &log) != kSuccess || log > empty)) {
    own->BecameUnusual();
  }
  return code;
}

NvvmResult nvvmGetCompiledResultSize(NvvmHandle program, size_t* size) {
  const CancellationDisabled guard;
  if (const NvvmProgram* own = Serving(program, size)) return StoreSize(own->output(), size);
  return Forward(REAL(nvvmGetCompiledResultSize), program, size);
}

NvvmResult nvvmGetCompiledResult(NvvmHandle program, char* out) {
  const CancellationDisabled guard;
  if (const NvvmProgram* own = Serving(program, out)) return Copy(own->output(), out);
  return Forward(REAL(nvvmGetCompiledResult), program, out);
}

NvvmResult nvvmGetProgramLogSize(NvvmHandle program, size_t* size) {
  const CancellationDisabled guard;
  if (const NvvmProgram* own = Serving(program, size)) return StoreSize(WithNul(own->log()), size);
  return Forward(REAL(nvvmGetProgramLogSize), program, size);
}

NvvmResult nvvmGetProgramLog(NvvmHandle program, char* out) {
  const CancellationDisabled guard;
  if (const NvvmProgram* own = Serving(program, out)) return Copy(WithNul(own->log()), out);
  return Forward(REAL(nvvmGetProgramLog), program, out);
}

NvvmResult nvvmVersion(int* major, int* minor) {
  const CancellationDisabled guard;
  return Forward(REAL(nvvmVersion), major, minor);
}

NvvmResult nvvmIRVersion(int* major, int* minor, int* major_debug, int* minor_debug) {
  const CancellationDisabled guard;
  return Forward(REAL(nvvmIRVersion), major, minor, major_debug, minor_debug);
}

NvvmResult nvvmLLVMVersion(const char* architecture, int* major) {
  const CancellationDisabled guard;
  return Forward(REAL(nvvmLLVMVersion), architecture, major);
}

const char* nvvmGetErrorString(NvvmResult result) {
  const CancellationDisabled guard;
  const auto real = REAL(nvvmGetErrorString);
  return real == nullptr ? "NVVM_ERROR" : real(result);
}

NvvmResult nvvmDisableConcurrentAPI() {
  const CancellationDisabled guard;
  return Forward(REAL(nvvmDisableConcurrentAPI));
}

void* __nvvmHandle(unsigned function) {
  const CancellationDisabled guard;
  const auto real = REAL(__nvvmHandle);
  return real == nullptr ? nullptr : InternalFunction(real(function));
}

void* __nvvmHandleTarget(unsigned function, bool other) {
  const CancellationDisabled guard;
  const auto real = REAL(__nvvmHandleTarget);
  return real == nullptr ? nullptr : InternalFunction(real(function, other));
}
