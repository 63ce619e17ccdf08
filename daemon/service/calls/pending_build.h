// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "daemon/core/build/coordinator.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/service/limits/backend.h"

namespace cccl_cache::daemon {

/// One caller's wait for an answer, where the answer and the caller's leaving meet: whichever comes
/// first ends the wait, and the other finds it ended. Thread-safe. Shared, because an answer can
/// come after the caller is gone.
class PendingBuild {
 public:
  using Answer = std::function<void(Result<BuildAnswer>)>;

  /// The builder must outlive the last call of Start and Cancel.
  explicit PendingBuild(Builder& builder) : builder_(builder) {}

  /// Asks the builder; `answer` runs at most once, perhaps before this returns, and then all that
  /// it refers to may be gone already. False, and nothing is asked, if the caller has left before.
  [[nodiscard]] static bool Start(const std::shared_ptr<PendingBuild>& pending,
                                  std::shared_ptr<const cccl_cache::BuildRequest> request,
                                  const Caller& caller, Answer answer);

  /// The caller leaves. True if that ended the wait: `answer` will not run. False: it has run or is
  /// running, or Start is still to come and will return false.
  [[nodiscard]] bool Cancel();

 private:
  void End(Result<BuildAnswer> result);

  Builder& builder_;
  std::mutex mutex_;
  bool cancelled_ = false;               // guarded by mutex_
  Answer answer_;                        // guarded by mutex_; empty unless waiting
  BuildCoordinator::Ticket ticket_ = 0;  // guarded by mutex_
};

}  // namespace cccl_cache::daemon
