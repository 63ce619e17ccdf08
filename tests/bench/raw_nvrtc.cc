// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/raw_nvrtc.h"

#include <dlfcn.h>

#include <cstdio>

namespace cccl_cached {
namespace {

template <typename Function>
bool Look(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::unique_ptr<RawNvrtc> RawNvrtc::Load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::unique_ptr<RawNvrtc> nvrtc(new RawNvrtc);
  if (library != nullptr && nvrtc->Find(library)) return nvrtc;
  std::fprintf(stderr, "%s\n", dlerror());
  return nullptr;
}

bool RawNvrtc::Find(void* library) {
  return Look(library, "nvrtcCreateProgram", create_) &&
         Look(library, "nvrtcDestroyProgram", destroy_) &&
         Look(library, "nvrtcCompileProgram", compile_) &&
         Look(library, "nvrtcGetProgramLogSize", log_size_) &&
         Look(library, "nvrtcGetProgramLog", log_) &&
         Look(library, "nvrtcGetCUBINSize", cubin_size_) && Look(library, "nvrtcGetCUBIN", cubin_);
}

std::string RawNvrtc::Compile(const std::string& source, const std::vector<std::string>& options) {
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  Program program = nullptr;
  if (create_(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr) != 0) return {};
  std::string cubin = Cubin(program, words);
  if (cubin.empty()) PrintLog(program);
  destroy_(&program);
  return cubin;
}

std::string RawNvrtc::Cubin(Program program, const std::vector<const char*>& options) {
  if (compile_(program, static_cast<int>(options.size()), options.data()) != 0) return {};
  size_t size = 0;
  if (cubin_size_(program, &size) != 0) return {};
  std::string cubin(size, '\0');
  if (cubin_(program, cubin.data()) != 0) return {};
  return cubin;
}

void RawNvrtc::PrintLog(Program program) {
  size_t size = 0;
  if (log_size_(program, &size) != 0) return;
  std::string log(size, '\0');
  if (log_(program, log.data()) == 0) std::fputs(log.c_str(), stderr);
}

}  // namespace cccl_cached
