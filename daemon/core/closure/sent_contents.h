// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "daemon/core/model/account.h"
#include "daemon/core/model/failure_memory.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Contents that users sent, for a while and in memory only: so each travels once. A digest that a
/// user names counts only if that user sent the contents, so nobody gets anything for a digest that
/// he heard of. Bounded in bytes, each account's and all together. Thread-safe.
class SentContents {
 public:
  explicit SentContents(Now now);

  void Keep(uid_t uid, Account account, const cccl_cache::Digest& digest,
            std::shared_ptr<const std::string> bytes);
  /// Whether this user sent such contents. They may be forgotten already.
  [[nodiscard]] bool WasSent(uid_t uid, const cccl_cache::Digest& digest);
  [[nodiscard]] bool SentAny(uid_t uid) { return WasSent(uid, {}); }
  /// Null: never sent by this user, or forgotten.
  [[nodiscard]] std::shared_ptr<const std::string> Find(uid_t uid,
                                                        const cccl_cache::Digest& digest);

 private:
  FailureMemory<std::shared_ptr<const std::string>> contents_;  // by uid and digest
  FailureMemory<bool> sent_;                                    // by uid and digest
};

}  // namespace cccl_cache::daemon
