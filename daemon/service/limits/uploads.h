// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "daemon/service/limits/budget.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Blobs that were too large for one message, each visible to the uid that sent it alone.
/// Thread-safe.
class Uploads {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Uploads(std::chrono::seconds kept) : kept_(kept) {}

  /// Keeps a blob whose digest was computed here. The same blob again starts its time anew.
  void Keep(uid_t uid, const Digest& digest, std::string bytes, Share share,
            Clock::time_point now = Clock::now());
  /// Null: never sent by this uid, or forgotten.
  [[nodiscard]] std::shared_ptr<const std::string> Find(uid_t uid, const Digest& digest,
                                                        Clock::time_point now = Clock::now());
  /// For an upload whose caller was never told of it: the same blob, sent by another, has to be
  /// sent again.
  void Drop(uid_t uid, const Digest& digest);
  /// Frees what is older than its time: called now and then.
  void Forget(Clock::time_point now = Clock::now());

 private:
  struct Blob {
    std::shared_ptr<const std::string> bytes;
    Share share;
    Clock::time_point until;
  };

  const std::chrono::seconds kept_;
  std::mutex mutex_;
  std::map<std::pair<uid_t, Digest>, Blob> blobs_;  // guarded by mutex_
};

}  // namespace cccl_cache::daemon
