// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "daemon/service/limits/budget.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Blobs that were too large for one message. Each is visible only to the uid that sent it.
/// Thread-safe.
class Uploads {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Uploads(std::chrono::seconds kept) : kept_(kept) {}

  /// Keeps a blob whose digest was computed here. If the blob is kept already, its time starts
  /// again.
  void Keep(uid_t uid, const Digest& digest, std::string bytes, Share share,
            Clock::time_point now = Clock::now());
  /// Returns the blob, or null if this uid never sent it or it has expired.
  [[nodiscard]] std::shared_ptr<const std::string> Find(uid_t uid, const Digest& digest,
                                                        Clock::time_point now = Clock::now());
  /// Drops an upload whose caller was never told of it. If another caller of the uid sent the same
  /// blob, it has to be sent again.
  void Drop(uid_t uid, const Digest& digest);
  /// Frees the blobs that have expired. Must be called now and then.
  void Forget(Clock::time_point now = Clock::now());

 private:
  struct Blob {
    std::shared_ptr<const std::string> bytes;
    Share share;
    Clock::time_point until;
  };

  const std::chrono::seconds kept_;
  Mutex mutex_;
  std::map<std::pair<uid_t, Digest>, Blob> blobs_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
