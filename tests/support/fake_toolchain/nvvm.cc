// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The libNVVM API of a compiler that runs the commands in its modules (README.md).
#include <cstddef>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "tests/support/fake_toolchain/mapped_control.h"
#include "tests/support/fake_toolchain/script.h"

using fake_toolchain::Control;
using fake_toolchain::Effects;
using fake_toolchain::Ending;

namespace {

enum Code {
  kSuccess = 0,
  kOutOfMemory = 1,
  kInvalidInput = 4,
  kInvalidOption = 7,
  kNoModule = 8,
  kCompilation = 9,
};

Control* const control = fake_toolchain::MapControl();

}  // namespace

struct _nvvmProgram {
  std::string description;
  std::string commands;
  bool has_module = false;
  std::string log;
  std::string result;
};

namespace {

using Program = _nvvmProgram;

int AddModule(Program& program, std::string_view bytes, const char* kind, const char* name) {
  program.has_module = true;
  program.description += std::string(kind) + " " + (name == nullptr ? "" : name) + " " +
                         fake_toolchain::Fingerprint(bytes) + "\n";
  program.commands.append(bytes).push_back('\n');
  return kSuccess;
}

int ApplyOptions(Program& program, int count, const char* const* options) {
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (!option.starts_with('-') || option == "--fake-unknown" || option == "-arch=compute_9000") {
      program.log += "libnvvm : error: " + option + " is an unsupported option\n";
      return kInvalidOption;
    }
    program.description += option + "\n";
  }
  return kSuccess;
}

int Compile(Program& program, int count, const char* const* options) {
  if (control != nullptr) control->nvvm_compiles.fetch_add(1);
  const int code = ApplyOptions(program, count, options);
  if (code != kSuccess) return code;
  if (!program.has_module) return kNoModule;
  Effects effects;
  fake_toolchain::RunCommands(program.commands, control, effects);
  program.log += effects.log;
  if (effects.ending == Ending::kOutOfMemory) return kOutOfMemory;
  if (effects.ending == Ending::kCompileError) return kCompilation;
  program.result = "// fake PTX from NVVM IR\ncompiler " + std::to_string(FAKE_CUDA_MAJOR) + "." +
                   std::to_string(FAKE_CUDA_MINOR) + "\n" + program.description + effects.notes;
  fake_toolchain::Pad(program.result, effects.output_bytes);
  return kSuccess;
}

int Add(Program* program, const char* buffer, size_t size, const char* kind, const char* name) {
  if (buffer == nullptr) return kInvalidInput;
  try {
    return AddModule(*program, {buffer, size}, kind, name);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

}  // namespace

extern "C" {

const char* nvvmGetErrorString(int code) {
  switch (code) {
    case kSuccess:
      return "NVVM_SUCCESS";
    case kOutOfMemory:
      return "NVVM_ERROR_OUT_OF_MEMORY";
    case kInvalidInput:
      return "NVVM_ERROR_INVALID_INPUT";
    case kInvalidOption:
      return "NVVM_ERROR_INVALID_OPTION";
    case kNoModule:
      return "NVVM_ERROR_NO_MODULE_IN_PROGRAM";
    case kCompilation:
      return "NVVM_ERROR_COMPILATION";
    default:
      return "NVVM_ERROR unknown";
  }
}

int nvvmVersion(int* major, int* minor) {
  *major = 2;
  *minor = 0;
  return kSuccess;
}

int nvvmIRVersion(int* major, int* minor, int* debug_major, int* debug_minor) {
  *major = 2;
  *minor = 0;
  *debug_major = 3;
  *debug_minor = 1;
  return kSuccess;
}

int nvvmCreateProgram(Program** program) {
  *program = new (std::nothrow) Program;
  return *program == nullptr ? kOutOfMemory : kSuccess;
}

int nvvmDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return kSuccess;
}

int nvvmAddModuleToProgram(Program* program, const char* buffer, size_t size, const char* name) {
  return Add(program, buffer, size, "module", name);
}

int nvvmLazyAddModuleToProgram(Program* program, const char* buffer, size_t size,
                               const char* name) {
  return Add(program, buffer, size, "lazy module", name);
}

int nvvmVerifyProgram(Program* program, int count, const char* const* options) {
  return ApplyOptions(*program, count, options);
}

int nvvmCompileProgram(Program* program, int count, const char* const* options) {
  try {
    return Compile(*program, count, options);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  }
}

int nvvmGetCompiledResultSize(Program* program, size_t* size) {
  *size = program->result.size() + 1;
  return kSuccess;
}

int nvvmGetCompiledResult(Program* program, char* to) {
  std::memcpy(to, program->result.c_str(), program->result.size() + 1);
  return kSuccess;
}

int nvvmGetProgramLogSize(Program* program, size_t* size) {
  *size = program->log.size() + 1;
  return kSuccess;
}

int nvvmGetProgramLog(Program* program, char* to) {
  std::memcpy(to, program->log.c_str(), program->log.size() + 1);
  return kSuccess;
}

}  // extern "C"
