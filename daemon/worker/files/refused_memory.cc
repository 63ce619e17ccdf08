// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/refused_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {
namespace {

/// Of this process. Null: nobody wants to know.
std::atomic<std::atomic<bool>*> own_page{nullptr};

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

RefusedMemory RefusedMemory::OfNextFork() {
  RefusedMemory made;
  void* const page = real_files::Map(nullptr, PageBytes(), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) made.page_.reset(new (page) std::atomic<bool>(false));
  own_page = made.page_.get();
  return made;
}

void RefusedMemory::HideFromOthers() {
  own_page = nullptr;
  if (page_ != nullptr) madvise(page_.get(), PageBytes(), MADV_DONTFORK);
}

bool RefusedMemory::noted() const { return page_ != nullptr && *page_; }

void RefusedMemory::Note() {
  if (std::atomic<bool>* const page = own_page) *page = true;
}

void RefusedMemory::Unmap::operator()(std::atomic<bool>* page) const { munmap(page, PageBytes()); }

}  // namespace cccl_cache::daemon
