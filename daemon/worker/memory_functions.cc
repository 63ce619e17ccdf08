// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// This executable defines and exports (file_functions.list) the functions by which compilers ask
// for memory and threads. Each calls the C library's function and records a refusal, because a
// compiler may report a lack of memory as another error. mmap is in file_functions.cc.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

#include <cerrno>

#include "daemon/worker/files/memory_files.h"

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

namespace {

void* Noted(void* memory) {
  if (memory == nullptr) cccl_cache::daemon::RefusedMemory::Note();
  return memory;
}

}  // namespace

void* malloc(size_t size) noexcept { return Noted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) noexcept { return Noted(__libc_calloc(count, size)); }

void* realloc(void* memory, size_t size) noexcept {
  void* const moved = __libc_realloc(memory, size);
  return size == 0 ? moved : Noted(moved);  // null is no failure: size 0 frees the memory
}

void* memalign(size_t alignment, size_t size) noexcept {
  return Noted(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) noexcept { return memalign(alignment, size); }

int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!is_power || alignment % sizeof(void*) != 0) return EINVAL;
  void* const aligned = memalign(alignment, size);
  if (aligned == nullptr) return ENOMEM;
  *memory = aligned;
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  using Function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static Function* const next = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "pthread_create"));
  const int error = next(thread, attributes, start, argument);
  if (error != 0) cccl_cache::daemon::RefusedMemory::Note();
  return error;
}

}  // extern "C"
