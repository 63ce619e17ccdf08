// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/raw_nvrtc.h"

#include <dlfcn.h>

#include <cstdio>

#include "tests/bench/find_symbol.h"

namespace cccl_cache::daemon {
std::unique_ptr<RawNvrtc> RawNvrtc::Load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::unique_ptr<RawNvrtc> nvrtc(new RawNvrtc);
  if (library != nullptr && nvrtc->Find(library)) return nvrtc;
  std::fprintf(stderr, "%s\n", dlerror());
  return nullptr;
}

bool RawNvrtc::Find(void* library) {
  return FindSymbol(library, "nvrtcCreateProgram", create_) &&
         FindSymbol(library, "nvrtcDestroyProgram", destroy_) &&
         FindSymbol(library, "nvrtcCompileProgram", compile_) &&
         FindSymbol(library, "nvrtcGetProgramLogSize", log_size_) &&
         FindSymbol(library, "nvrtcGetProgramLog", log_) &&
         FindSymbol(library, "nvrtcAddNameExpression", add_expression_) &&
         FindSymbol(library, "nvrtcGetLoweredName", lowered_name_) &&
         FindSymbol(library, "nvrtcGetCUBINSize", cubin_.size) &&
         FindSymbol(library, "nvrtcGetCUBIN", cubin_.bytes) &&
         FindSymbol(library, "nvrtcGetLTOIRSize", ltoir_.size) &&
         FindSymbol(library, "nvrtcGetLTOIR", ltoir_.bytes);
}

std::string RawNvrtc::Compile(const std::string& source, const std::vector<std::string>& options) {
  return CompileTo(cubin_, source, options, {});
}

std::string RawNvrtc::CompileToLtoIr(const std::string& source,
                                     const std::vector<std::string>& options,
                                     const std::vector<std::string>& name_expressions) {
  return CompileTo(ltoir_, source, options, name_expressions);
}

std::string RawNvrtc::CompileTo(const Output& output, const std::string& source,
                                const std::vector<std::string>& options,
                                const std::vector<std::string>& name_expressions) {
  Program program = nullptr;
  if (create_(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) return {};
  std::string bytes = Take(program, output, options, name_expressions);
  if (bytes.empty()) PrintLog(program);
  destroy_(&program);
  return bytes;
}

std::string RawNvrtc::Take(Program program, const Output& output,
                           const std::vector<std::string>& options,
                           const std::vector<std::string>& name_expressions) {
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  for (const std::string& expression : name_expressions) {
    if (add_expression_(program, expression.c_str()) != 0) return {};
  }
  if (compile_(program, static_cast<int>(words.size()), words.data()) != 0) return {};
  for (const std::string& expression : name_expressions) {
    const char* lowered = nullptr;
    if (lowered_name_(program, expression.c_str(), &lowered) != 0) return {};
  }
  size_t size = 0;
  if (output.size(program, &size) != 0) return {};
  std::string bytes(size, '\0');
  if (output.bytes(program, bytes.data()) != 0) return {};
  return bytes;
}

void RawNvrtc::PrintLog(Program program) {
  size_t size = 0;
  if (log_size_(program, &size) != 0) return;
  std::string log(size, '\0');
  if (log_(program, log.data()) == 0) std::fputs(log.c_str(), stderr);
}

}  // namespace cccl_cache::daemon
