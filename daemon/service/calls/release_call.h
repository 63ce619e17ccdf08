// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "daemon/core/model/account.h"
#include "daemon/core/model/releases.h"
#include "daemon/core/model/result.h"
#include "daemon/service/calls/backend.h"
#include "daemon/service/calls/blocking_call.h"
#include "daemon/system/blocking_pool.h"

namespace cccl_cache::daemon {

/// One call of Admin.AddRelease: receives the digests of a compiler's files, then the files if the
/// daemon takes them.
class AddReleaseCall final : public BlockingCall {
 public:
  AddReleaseCall(BuildBackend& backend, Releases& releases, BlockingPool& threads, Peer peer,
                 CallStream& stream)
      : BlockingCall(backend, threads, std::move(peer), stream), releases_(releases) {}

 private:
  Status Work() override;

  Releases& releases_;
};

}  // namespace cccl_cache::daemon
