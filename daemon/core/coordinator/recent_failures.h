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

/// A build that ended with an error or did not compile.
struct Failure {
  std::chrono::system_clock::time_point time;
  std::string_view kind;  ///< a string literal
  uid_t uid = 0;
  std::optional<Digest> key;  ///< of a build that does not compile
  std::string cause;          ///< "timed-out", "the compiler answered NVRTC_ERROR_COMPILATION"
  std::string text;           ///< first line of the error or of the log; only for this uid
};

/// The last failures of each account. Thread-safe.
class RecentFailures {
 public:
  /// Maximum number of failures that are kept per account, and that Take returns.
  static constexpr size_t kMax = 20;

  /// Records a failure. Ignores successful builds, remembered failures, and errors that clients
  /// handle. A build that does not lead its flight replaces an equal failure, so that one compile
  /// with many waiters does not displace all others.
  void Add(const BuildRecord& record);
  /// Returns the newest failures first: those of this uid, or of all users for an administrator.
  /// Failures of other uids have no text, because the text quotes their sources. kOverflowUid has
  /// no failures of its own.
  [[nodiscard]] std::vector<Failure> Take(const Peer& peer) const;

 private:
  using Failures = PerUserLru<uint64_t, Failure, std::hash<uint64_t>, Account>;

  mutable Mutex mutex_;
  uint64_t last_ GUARDED_BY(mutex_) = 0;
  Failures failures_ GUARDED_BY(mutex_){{.max_entries = 1024, .max_entries_per_user = kMax}};
};

}  // namespace cccl_cache::daemon
