// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/lru.h"
#include "base/mutex.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Why an entry is no longer kept. Stored: values never change.
enum class EvictionCause : uint8_t {
  kEvicted = 0,      ///< because of the limit, or by an administrator
  kCorrupt = 1,      ///< the entry did not verify
  kShadowCheck = 2,  ///< a new compile gave another result
  kCount,
};

/// Called by a tier when it drops an entry by itself, on any thread. May be empty.
using OnEvict = std::function<void(const Digest& key, EvictionCause cause)>;

/// Records in memory which entries have left the tiers recently, when and why. It keeps the last
/// few thousand evictions of each cause, so that many evictions of one cause displace none of
/// another. The newest evictions can be stored across a restart. Thread-safe.
class EvictionLog {
 public:
  struct Eviction {
    EvictionCause cause = EvictionCause::kEvicted;
    std::chrono::system_clock::time_point time;
  };

  /// The most evictions of each cause that Serialize writes. The bytes are rewritten during
  /// evictions, so they must be few compared to the entries.
  static constexpr size_t kSerialisedPerCause = 2048;

  explicit EvictionLog(size_t kept_per_cause = 16384)
      : evictions_({.max_entries_per_user = kept_per_cause}) {}

  void Note(const Digest& key, EvictionCause cause);
  /// Returns the last eviction of the key, or none.
  [[nodiscard]] std::optional<Eviction> Find(const Digest& key) const;

  /// Returns the number of evictions so far. A changed number means that there is something new to
  /// serialise.
  [[nodiscard]] uint64_t noted() const;
  /// Returns the last kSerialisedPerCause evictions of each cause, with times in milliseconds.
  /// docs/internals/entry-format.md has the layout.
  [[nodiscard]] std::string Serialize() const;
  /// Adds the evictions that an earlier run serialised, except keys that were noted since. Adds
  /// nothing if the bytes are malformed.
  void Restore(std::string_view bytes);

 private:
  void Add(const Digest& key, const Eviction& eviction) REQUIRES(mutex_);

  mutable Mutex mutex_;
  uint64_t noted_ GUARDED_BY(mutex_) = 0;
  /// Each cause has its share.
  PerUserLru<Digest, Eviction, DigestHash, EvictionCause> evictions_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
