// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lru.h"
#include "base/mutex.h"
#include "daemon/core/coordinator/build.h"
#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {

/// A build that ended with an error, or whose program the compiler rejected.
struct Failure {
  std::chrono::system_clock::time_point time;
  std::string_view kind;  ///< a string literal
  uid_t uid = 0;
  std::optional<Digest> key;  ///< the build's key if the compiler rejected the program; none for an
                              ///< error
  std::string cause;          ///< such as "timed-out", or "the compiler answered
                              ///< NVRTC_ERROR_COMPILATION"
  std::string text;           ///< the most informative line of the error or of the compiler's log;
                              ///< shown only to `uid`
};

/// Keeps the last failures of each account, for the user and the operator. Thread-safe.
class RecentFailures {
 public:
  /// Maximum number of failures kept for each account, and maximum number that Take returns.
  static constexpr size_t kMax = 20;

  /// Records the build if it failed. Failures that are repeated from the cache, and errors that
  /// clients handle themselves, are not recorded. If many builds wait for one compile that fails,
  /// the build that leads the flight is recorded, and each other build replaces an equal record. So
  /// one compile does not displace all other failures.
  void Add(const BuildRecord& record);
  /// Returns failures, the newest first: those of the peer's uid, or those of all users for an
  /// administrator. Failures of other uids have no `text`, because the text may quote their source
  /// code. For kOverflowUid, which stands for many people, no failure counts as its own.
  [[nodiscard]] std::vector<Failure> Take(const Peer& peer) const;

 private:
  using Failures = PerUserLru<uint64_t, Failure, std::hash<uint64_t>, Account>;

  mutable Mutex mutex_;
  uint64_t last_ GUARDED_BY(mutex_) = 0;
  Failures failures_ GUARDED_BY(mutex_){{.max_entries = 1024, .max_entries_per_user = kMax}};
};

}  // namespace cccl_cache::daemon
