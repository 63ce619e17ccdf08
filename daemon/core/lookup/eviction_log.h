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

/// Why an entry was dropped from a tier. The values are stored, so they never change.
enum class EvictionCause : uint8_t {
  kEvicted = 0,      ///< because of the limit, or by an administrator
  kCorrupt = 1,      ///< its bytes failed verification
  kShadowCheck = 2,  ///< a second compile, which verified it, gave another result
  kCount,
};

/// A tier calls this function after it has dropped an entry on its own, on any thread. May be
/// empty.
using OnEvict = std::function<void(const Digest& key, EvictionCause cause)>;

/// Records which entries the tiers have dropped recently, with the times and causes. Keeps the last
/// few thousand evictions of each cause in memory, so that many evictions of one cause do not
/// displace those of another. The newest ones can be stored, to survive a restart. Thread-safe.
class EvictionLog {
 public:
  struct Eviction {
    EvictionCause cause = EvictionCause::kEvicted;
    std::chrono::system_clock::time_point time;
  };

  /// Maximum number of evictions of each cause that Serialize returns. Their bytes are written
  /// again and again while entries are evicted, so they must be few compared to the entries.
  static constexpr size_t kSerialisedPerCause = 2048;

  explicit EvictionLog(size_t kept_per_cause = 16384)
      : evictions_({.max_entries_per_user = kept_per_cause}) {}

  void Note(const Digest& key, EvictionCause cause);
  /// Returns the last eviction of the entry with this key. None if none is recorded.
  [[nodiscard]] std::optional<Eviction> Find(const Digest& key) const;

  /// Returns the number of evictions recorded so far. If it has not changed, Serialize returns the
  /// same bytes as before.
  [[nodiscard]] uint64_t noted() const;
  /// Returns the last kSerialisedPerCause evictions of each cause as bytes, with times in
  /// milliseconds: see docs/internals/entry-format.md.
  [[nodiscard]] std::string Serialize() const;
  /// Adds the evictions that an earlier run of the daemon has serialised. Keys that this run has
  /// already recorded keep their newer evictions. Malformed bytes add nothing.
  void Restore(std::string_view bytes);

 private:
  void Add(const Digest& key, const Eviction& eviction) REQUIRES(mutex_);

  mutable Mutex mutex_;
  uint64_t noted_ GUARDED_BY(mutex_) = 0;
  /// The limit applies to each cause separately.
  PerUserLru<Digest, Eviction, DigestHash, EvictionCause> evictions_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
