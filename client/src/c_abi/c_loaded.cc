// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <link.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <string_view>

#include "cccl_cache/client_c.h"

namespace {

/// The best first.
constexpr std::array<std::string_view, 3> kLibraries = {"libnvrtc.so.", "libnvJitLink.so.",
                                                        "libcudart.so."};
/// How often anything was loaded or unloaded, and the major that was found then: the low byte.
std::atomic<uint64_t> last_look = 0;

struct Search {
  uint64_t last;
  uint64_t now = 0;
  size_t rank = kLibraries.size();
  uint32_t major = 0;
};

uint32_t MajorOf(std::string_view version) {
  uint32_t major = 0;
  for (const char digit : version.substr(0, 2)) {
    if (digit < '0' || digit > '9') break;
    major = major * 10 + static_cast<uint32_t>(digit - '0');
  }
  return major;
}

int Look(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  search->now = info->dlpi_adds + info->dlpi_subs;
  if (search->now == search->last >> 8) return 1;
  const std::string_view path = info->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (size_t rank = 0; rank < search->rank; ++rank) {
    if (!name.starts_with(kLibraries[rank])) continue;
    search->major = MajorOf(name.substr(kLibraries[rank].size()));
    search->rank = rank;
  }
  return 0;
}

}  // namespace

uint32_t cccl_cache_loaded_cuda_major(void) {
  Search search = {last_look.load(std::memory_order_relaxed)};
  if (dl_iterate_phdr(Look, &search) != 0) return search.last & 0xff;
  last_look.store(search.now << 8 | search.major, std::memory_order_relaxed);
  return search.major;
}
