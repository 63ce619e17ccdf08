// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "daemon/core/coordinator/build.h"
#include "daemon/core/explain/explainer.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Interface that answers requests for builds, and explains whether they are hits. Thread-safe.
class Builder {
 public:
  using Done = Build::Done;
  using Ticket = Build::Ticket;

  virtual ~Builder() = default;

  /// Starts a build. `done` is called exactly once: before Start returns (for a hit or an error),
  /// or later on another thread. The builder holds no lock during the call. After Leave, `done` is
  /// possibly not called.
  virtual Ticket Start(std::shared_ptr<const BuildRequest> request, const Caller& caller,
                       Done done) = 0;

  /// Reports that the caller of this ticket no longer waits. When the last caller that waits for a
  /// compile leaves, the compile is cancelled. A build with on_miss = finish is not cancelled: it
  /// continues, and keeps its `done` until it ends. Unknown and finished tickets are ignored.
  virtual void Leave(Ticket ticket) = 0;

  /// Explains whether this build would be a hit, and if not, why. The build is looked up but not
  /// compiled (a dry run). `done` is called once, as for Start.
  virtual Ticket Explain(std::shared_ptr<const BuildRequest> request, const Peer& peer,
                         Explainer::Done done) = 0;

  /// Explains why the build with this key was compiled (see Explainer::OfKey). `done` is called
  /// once, on a thread that reads the disk for this user. If too many reads are queued, it is
  /// called before ExplainKey returns. It is not called if the builder is destroyed first.
  virtual void ExplainKey(const DigestPrefix& key, const Peer& peer, Explainer::Done done) = 0;

  /// Returns the request of a build for which this user waits now, so that the build can be
  /// explained. `key` is the beginning of a FlightActivity::key. Returns null if there is no such
  /// build. See FlightTable::RequestOf.
  [[nodiscard]] virtual Result<std::shared_ptr<const BuildRequest>> RequestOf(
      const DigestPrefix& key, const Peer& peer) const = 0;
};

}  // namespace cccl_cache::daemon
