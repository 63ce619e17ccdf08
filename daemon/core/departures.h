// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "proto/digest.h"

namespace cccl_cached {

/// Why an entry is no longer kept.
enum class DepartureCause : uint8_t {
  kEvicted,      ///< to keep within the limit
  kCorrupt,      ///< it did not verify
  kShadowCheck,  ///< its compiler makes something else now
  kCount,
};

/// What a tier calls when it drops an entry by itself, on any thread. May be empty.
using Departed = std::function<void(const cccl_cache::Digest& key, DepartureCause cause)>;

/// Which entries left the tiers lately, when and why. In memory only, the last few thousand of each
/// cause: many of one push out none of another. Thread-safe.
class Departures {
 public:
  struct Departure {
    DepartureCause cause = DepartureCause::kEvicted;
    std::chrono::system_clock::time_point time;
  };

  explicit Departures(size_t kept_per_cause = 16384) : kept_per_cause_(kept_per_cause) {}

  void Note(const cccl_cache::Digest& key, DepartureCause cause);
  /// The last one.
  [[nodiscard]] std::optional<Departure> Find(const cccl_cache::Digest& key) const;

 private:
  struct Noted {
    Departure departure;
    uint64_t number = 0;
  };
  struct Place {
    cccl_cache::Digest key;
    uint64_t number = 0;
  };

  const size_t kept_per_cause_;
  mutable std::mutex mutex_;
  uint64_t last_number_ = 0;  // guarded by mutex_, as all below
  std::unordered_map<cccl_cache::Digest, Noted, cccl_cache::DigestHash> by_key_;
  std::array<std::deque<Place>, static_cast<size_t>(DepartureCause::kCount)> oldest_first_;
};

}  // namespace cccl_cached
