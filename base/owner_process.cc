// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "base/owner_process.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace cccl_cache {
namespace {

/// The number that identifies a process. The kernel sets it to 0 in a forked child.
using Number = std::atomic<uint64_t>;

constinit Number unmarked = 0;  ///< used if the kernel can't clear memory in forked children
constinit std::atomic<Number*> this_owner{nullptr};
/// The largest number of this process and of the processes from which it was forked.
constinit std::atomic<uint64_t> numbers{0};

/// Maps a page for the number which the kernel clears in a forked child (MADV_WIPEONFORK). Returns
/// null if the kernel can't do this.
Number* MapNumber() {
  void* const page =
      mmap(nullptr, sizeof(Number), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, sizeof(Number), MADV_WIPEONFORK) == 0) return new (page) Number(0);
  munmap(page, sizeof(Number));
  return nullptr;
}

Number* Place() {
  if (Number* known = this_owner.load(std::memory_order_acquire)) return known;
  Number* made = MapNumber();
  if (made == nullptr) {
    made = &unmarked;
    pthread_atfork(nullptr, nullptr, [] { ++numbers; });
  }
  Number* known = nullptr;
  if (this_owner.compare_exchange_strong(known, made)) return made;
  if (made != &unmarked) munmap(made, sizeof(Number));
  return known;
}

}  // namespace

uint64_t OwnerProcess::Current() {
  Number* const place = Place();
  if (place == &unmarked) return numbers << 32 | static_cast<uint32_t>(getpid());
  uint64_t number = place->load(std::memory_order_relaxed);
  if (number != 0) return number;
  const uint64_t next = ++numbers;
  return place->compare_exchange_strong(number, next) ? next : number;
}

}  // namespace cccl_cache
