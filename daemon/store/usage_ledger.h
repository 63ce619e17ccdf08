// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Uses of entries that are not written down yet. Thread-safe. Bounded: uses that do not fit are
/// forgotten, which only makes an entry look a little older than it is.
class UsageLedger {
 public:
  struct Uses {
    uint64_t hits = 0;
    std::chrono::sys_seconds last{};
  };
  using Pending = std::unordered_map<cccl_cache::Digest, Uses, cccl_cache::DigestHash>;

  void Used(const cccl_cache::Digest& key);
  /// Everything since the last call.
  [[nodiscard]] Pending Take();

 private:
  std::mutex mutex_;
  Pending pending_;  ///< guarded by mutex_
};

}  // namespace cccl_cache::daemon
