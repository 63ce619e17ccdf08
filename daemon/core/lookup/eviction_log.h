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
#include <string>
#include <string_view>
#include <unordered_map>

#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Why an entry is no longer kept. Stored: values never change.
enum class EvictionCause : uint8_t {
  kEvicted = 0,      ///< to keep within the limit
  kCorrupt = 1,      ///< the entry did not verify
  kShadowCheck = 2,  ///< a new compile gave another result
  kCount,
};

/// Called by a tier when it drops an entry by itself, on any thread. May be empty.
using OnEvict = std::function<void(const Digest& key, EvictionCause cause)>;

/// Records in memory which entries left the tiers lately, when and why. It holds the last few
/// thousand of each cause, so that many evictions of one cause drop none of another. The newest
/// ones can be stored across a restart. Thread-safe.
class EvictionLog {
 public:
  struct Eviction {
    EvictionCause cause = EvictionCause::kEvicted;
    std::chrono::system_clock::time_point time;
  };

  /// The most evictions of each cause that Serialize writes. The bytes are rewritten while entries
  /// are evicted, so they must stay small beside the entries.
  static constexpr size_t kSerialisedPerCause = 2048;

  explicit EvictionLog(size_t kept_per_cause = 16384) : kept_per_cause_(kept_per_cause) {}

  void Note(const Digest& key, EvictionCause cause);
  /// Returns the key's last eviction, or none.
  [[nodiscard]] std::optional<Eviction> Find(const Digest& key) const;

  /// Returns how many evictions were noted so far. A changed number says that there is something
  /// new to serialise.
  [[nodiscard]] uint64_t noted() const;
  /// Returns the last kSerialisedPerCause evictions of each cause, with times in milliseconds.
  /// docs/internals/entry-format.md has the layout.
  [[nodiscard]] std::string Serialize() const;
  /// Adds the evictions that an earlier run serialised, except keys that were noted since. Adds
  /// nothing if the bytes are malformed.
  void Restore(std::string_view bytes);

 private:
  struct Noted {
    Eviction eviction;
    uint64_t number = 0;
  };
  struct Place {
    Digest key;
    uint64_t number = 0;
  };

  // Requires mutex_ held.
  void Add(const Digest& key, const Eviction& eviction);

  const size_t kept_per_cause_;
  mutable std::mutex mutex_;
  uint64_t last_number_ = 0;  // guarded by mutex_, as all below
  std::unordered_map<Digest, Noted, DigestHash> by_key_;
  std::array<std::deque<Place>, static_cast<size_t>(EvictionCause::kCount)> oldest_first_;
};

}  // namespace cccl_cache::daemon
