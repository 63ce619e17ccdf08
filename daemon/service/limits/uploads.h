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

/// Parts of requests (blobs) that clients uploaded because they were too large for one message.
/// Only the uid that sent a blob can use it. Thread-safe.
class Uploads {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Uploads(std::chrono::seconds kept) : kept_(kept) {}

  /// Keeps a blob for the time that the constructor was given. The daemon must have computed the
  /// digest itself. If the blob is kept already, its time starts again.
  void Keep(uid_t uid, const Digest& digest, std::string bytes, Share share,
            Clock::time_point now = Clock::now());
  /// Returns the blob, or null if this uid did not send it or it has expired. The blob's time
  /// starts again. Its share is released when neither this object nor a caller holds the blob.
  [[nodiscard]] std::shared_ptr<const std::string> Find(uid_t uid, const Digest& digest,
                                                        Clock::time_point now = Clock::now());
  /// Frees a blob whose caller left before the upload was answered. If another caller with this uid
  /// has uploaded the same blob, that caller must upload it again.
  void Drop(uid_t uid, const Digest& digest);
  /// Frees the blobs that have expired. Must be called every few seconds.
  void Forget(Clock::time_point now = Clock::now());

 private:
  struct Counted {
    std::string bytes;
    Share share;
  };
  struct Blob {
    std::shared_ptr<const Counted> counted;
    Clock::time_point until;
  };

  const std::chrono::seconds kept_;
  Mutex mutex_;
  std::map<std::pair<uid_t, Digest>, Blob> blobs_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
