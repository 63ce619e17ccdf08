// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// Further functions that cuda.core calls: look-up of functions by name, the context of the first
// device, and events of streams, which are always complete.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/support/fake_driver/fake_driver.h"

namespace {

// All handles point to the FakeDriver.
constexpr int kSuccess = 0;
constexpr int kNotFound = 500;

}  // namespace

extern "C" {

int cuGetProcAddress_v2(const char* name, void** function, int, uint64_t, int* found) {
  // A name without a suffix means the newest version of the function.
  static void* const itself = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  *function = nullptr;
  for (const char* form : {"_v2", ""}) {
    *function = dlsym(itself, (std::string(name) + form).c_str());
    if (*function != nullptr) break;
  }
  if (found != nullptr) *found = *function != nullptr ? 0 : 1;
  return *function != nullptr ? kSuccess : kNotFound;
}

int cuEventCreate(void** event, unsigned) {
  *event = fake_driver();
  return kSuccess;
}
int cuEventDestroy_v2(void*) { return kSuccess; }
int cuEventRecord(void*, void*) { return kSuccess; }
int cuEventQuery(void*) { return kSuccess; }
int cuEventSynchronize(void*) {
  fake_driver()->calls.emplace_back("wait");
  return kSuccess;
}

int cuDeviceGetCount(int* count) {
  *count = fake_driver()->devices;
  return kSuccess;
}
int cuDeviceGetName(char* name, int size, int) {
  strncpy(name, "Fake", size);
  return kSuccess;
}
int cuDeviceGetUuid_v2(char* uuid, int) {
  std::memset(uuid, 0, 16);
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = fake_driver();
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
int cuCtxSetCurrent(void* context) {
  fake_driver()->context = context != nullptr;
  return kSuccess;
}
int cuCtxPushCurrent_v2(void*) { return kSuccess; }
int cuCtxPopCurrent_v2(void** context) {
  *context = fake_driver();
  return kSuccess;
}
int cuKernelGetAttribute(int* value, int, void*, int) {
  *value = 0;
  return kSuccess;
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = *total = size_t{1} << 34;
  return kSuccess;
}
int cuMemAlloc_v2(uint64_t* address, size_t size) {
  *address = reinterpret_cast<uintptr_t>(std::malloc(size));
  return kSuccess;
}
int cuMemFree_v2(uint64_t address) {
  std::free(reinterpret_cast<void*>(address));  // NOLINT
  return kSuccess;
}
int cuCtxSynchronize() { return kSuccess; }
int cuStreamGetCtx(void*, void** context) {
  *context = fake_driver();
  return kSuccess;
}

}  // extern "C"
