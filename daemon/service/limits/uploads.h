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

/// Blobs that were too large for one message. Only the uid that sent a blob can use it.
/// Thread-safe.
class Uploads {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Uploads(std::chrono::seconds kept) : kept_(kept) {}

  /// Keeps a blob whose digest was computed by the daemon. If the blob is kept already, its
  /// lifetime starts again.
  void Keep(uid_t uid, const Digest& digest, std::string bytes, Share share,
            Clock::time_point now = Clock::now());
  /// Returns the blob, or null if this uid did not send it or it has expired.
  [[nodiscard]] std::shared_ptr<const std::string> Find(uid_t uid, const Digest& digest,
                                                        Clock::time_point now = Clock::now());
  /// Drops an upload whose caller has left without an answer. If another caller of the uid sent the
  /// same blob, the blob must be sent again.
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
