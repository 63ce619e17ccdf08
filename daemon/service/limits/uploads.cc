// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/limits/uploads.h"

#include <utility>

namespace cccl_cache::daemon {

void Uploads::Keep(uid_t uid, const Digest& digest, std::string bytes, Share share,
                   Clock::time_point now) {
  Blob blob{std::make_shared<const Counted>(Counted{std::move(bytes), std::move(share)}),
            now + kept_};
  const MutexLock lock(mutex_);
  std::swap(blobs_[{uid, digest}], blob);
}

std::shared_ptr<const std::string> Uploads::Find(uid_t uid, const Digest& digest,
                                                 Clock::time_point now) {
  const MutexLock lock(mutex_);
  const auto found = blobs_.find({uid, digest});
  if (found == blobs_.end() || found->second.until <= now) return nullptr;
  found->second.until = now + kept_;
  const std::shared_ptr<const Counted>& counted = found->second.counted;
  return {counted, &counted->bytes};
}

void Uploads::Drop(uid_t uid, const Digest& digest) {
  const MutexLock lock(mutex_);
  blobs_.erase({uid, digest});
}

void Uploads::Forget(Clock::time_point now) {
  const MutexLock lock(mutex_);
  std::erase_if(blobs_, [now](const auto& entry) { return entry.second.until <= now; });
}

}  // namespace cccl_cache::daemon
