// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cccl_cache/c/upkeep.h"
#include "cccl_cache/c_structs.h"
#include "cccl_cache/expected.h"
#include "cccl_cache/handle.h"

namespace cccl_cache {

/// Selects what is evicted: see cccl_cache_eviction_filter. Exactly one field is set.
struct EvictionFilter {
  std::vector<std::string> keys;
  std::chrono::seconds unused_for{0};
  std::string toolchain;
  bool all = false;
};

/// A client's calls for administrators: see client/include/cccl_cache/c/upkeep.h. Valid as long as
/// the client. Experimental.
class Upkeep {
 public:
  using EvictProgress = std::function<void(const cccl_cache_evicted&)>;
  using VerifyProgress = std::function<void(const cccl_cache_verified&)>;

  explicit Upkeep(cccl_cache_client* client) : client_(client) {}

  Expected<cccl_cache_evicted> Evict(const EvictionFilter& filter, EvictProgress progress = {},
                                     std::chrono::milliseconds timeout = {}) {
    const std::vector<cccl_cache_bytes> keys = c::All(filter.keys);
    const cccl_cache_eviction_filter given = {sizeof(given),
                                              keys.data(),
                                              keys.size(),
                                              static_cast<uint64_t>(filter.unused_for.count()),
                                              Bytes(filter.toolchain),
                                              filter.all ? 1 : 0};
    cccl_cache_evicted evicted = {};
    evicted.struct_size = sizeof(evicted);
    cccl_cache_error* error = nullptr;
    if (cccl_cache_evict(client_, &given, Tell<cccl_cache_evicted>, &progress,
                         c::Milliseconds(timeout), &evicted, &error) != CCCL_CACHE_OK) {
      return TakeError(error);
    }
    return evicted;
  }

  Expected<cccl_cache_verified> Verify(VerifyProgress progress = {},
                                       std::chrono::milliseconds timeout = {}) {
    cccl_cache_verified verified = {};
    verified.struct_size = sizeof(verified);
    cccl_cache_error* error = nullptr;
    if (cccl_cache_verify(client_, Tell<cccl_cache_verified>, &progress, c::Milliseconds(timeout),
                          &verified, &error) != CCCL_CACHE_OK) {
      return TakeError(error);
    }
    return verified;
  }

 private:
  template <typename Numbers>
  static void Tell(const Numbers* so_far, void* context) {
    const auto& progress = *static_cast<const std::function<void(const Numbers&)>*>(context);
    if (progress) progress(*so_far);
  }

  cccl_cache_client* client_;
};

}  // namespace cccl_cache
