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

/// Answers builds, and questions about them. Thread-safe.
class Builder {
 public:
  using Done = Build::Done;
  using Ticket = Build::Ticket;

  virtual ~Builder() = default;

  /// `done` runs exactly once: before Start returns (a hit, an error), or later on another thread.
  /// No lock of the builder is held then. After Leave it may or may not run.
  virtual Ticket Start(std::shared_ptr<const BuildRequest> request, const Caller& caller,
                       Done done) = 0;

  /// Records that the caller does not wait any more. When the last waiter leaves a flight, its
  /// compile is cancelled. A build with on_miss = finish continues, and keeps `done` until its end.
  /// Unknown and finished tickets are ignored.
  virtual void Leave(Ticket ticket) = 0;

  /// Explains whether this build would be a hit, and if not, why. It is a dry run, which ends
  /// before it would join a flight. `done` runs once, as for Start.
  virtual Ticket Explain(std::shared_ptr<const BuildRequest> request, const Peer& peer,
                         Explainer::Done done) = 0;

  /// Explains why a key was compiled: see Explainer::OfKey. `done` runs once, on a thread that
  /// reads the disk for this user. It never runs if the builder ends before, and runs before the
  /// return if too many reads are queued.
  virtual void ExplainKey(const DigestPrefix& key, const Peer& peer, Explainer::Done done) = 0;

  /// Returns the request of a build for which this user waits, by a key of FlightActivity, for an
  /// explanation. Null if there is none. See FlightTable::RequestOf.
  [[nodiscard]] virtual Result<std::shared_ptr<const BuildRequest>> RequestOf(
      const DigestPrefix& key, const Peer& peer) const = 0;
};

}  // namespace cccl_cache::daemon
