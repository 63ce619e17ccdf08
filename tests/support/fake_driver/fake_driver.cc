// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 without a GPU, with those functions that client/include/cccl_cache/driver.h calls.
// Those for graphs are in fake_graph.cc. An image is a text or a cubin, and has a kernel if it
// contains the kernel's name.
#include "tests/support/fake_driver/fake_driver.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <set>

namespace {

constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;
constexpr int kInvalidImage = 200;
constexpr int kInvalidContext = 201;
constexpr int kNotFound = 500;

FakeDriver state;
std::list<std::string> images;  // the handles of libraries and modules point to these
std::set<std::string> kernels;  // the handles of kernels point to their names

/// Returns an image's bytes. Cubins are ELF files, which end after their section headers or program
/// headers. Those of the fake compiler are texts that begin like ELF files.
std::string Contents(const char* image) {
  Elf64_Ehdr header;
  if (std::strlen(image) >= sizeof(header) || std::strncmp(image, ELFMAG, SELFMAG) != 0)
    return image;
  std::memcpy(&header, image, sizeof(header));
  return {image, std::max(header.e_shoff + size_t{header.e_shnum} * header.e_shentsize,
                          header.e_phoff + size_t{header.e_phnum} * header.e_phentsize)};
}

int Load(void** loaded, const void* image) {
  if (!state.context) return kInvalidContext;
  state.image = Contents(static_cast<const char*>(image));
  if (state.image.find("no image") == 0) return kInvalidImage;
  *loaded = &images.emplace_back(state.image);
  return kSuccess;
}

int Find(void** found, const void* loaded, const char* name) {
  if (static_cast<const std::string*>(loaded)->find(name) == std::string::npos) return kNotFound;
  state.calls.push_back(std::string("find ") + name);
  *found = const_cast<std::string*>(&*kernels.insert(name).first);
  return kSuccess;
}

}  // namespace

extern "C" {

FakeDriver* fake_driver() { return &state; }

int cuInit(unsigned) { return state.devices > 0 ? kSuccess : kNoDevice; }

int cuDriverGetVersion(int* version) {
  *version = state.version;
  return kSuccess;
}

int cuGetErrorName(int error, const char** name) {
  switch (error) {
    case kNoDevice:
      *name = "CUDA_ERROR_NO_DEVICE";
      return kSuccess;
    case kInvalidImage:
      *name = "CUDA_ERROR_INVALID_IMAGE";
      return kSuccess;
    case kInvalidContext:
      *name = "CUDA_ERROR_INVALID_CONTEXT";
      return kSuccess;
    case kNotFound:
      *name = "CUDA_ERROR_NOT_FOUND";
      return kSuccess;
    default:
      return 1;
  }
}

int cuCtxGetCurrent(void** context) {
  *context = state.context ? &state : nullptr;
  return kSuccess;
}

int cuCtxGetDevice(int* device) {
  *device = 1;
  return kSuccess;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 75 ? state.major + device : attribute == 76 ? state.minor : 0;
  return kSuccess;
}

#ifndef FAKE_DRIVER_WITHOUT_LIBRARIES
int cuLibraryLoadData(void** library, const void* image, void*, void*, unsigned, void*, void*,
                      unsigned) {
  state.calls.emplace_back("library");
  return Load(library, image);
}

int cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  return Find(kernel, library, name);
}

int cuKernelGetFunction(void** function, void* kernel) {
  *function = kernel;
  return state.context ? kSuccess : kInvalidContext;
}

int cuLibraryUnload(void*) {
  state.calls.emplace_back("unload library");
  return kSuccess;
}
#endif

int cuModuleLoadData(void** module, const void* image) {
  state.calls.emplace_back("module");
  return Load(module, image);
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  return Find(function, module, name);
}

int cuModuleUnload(void*) {
  state.calls.emplace_back("unload module");
  return kSuccess;
}

}  // extern "C"
