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
#include "daemon/core/closure/sent_files.h"
#include "daemon/core/coordinator/coordinator.h"
#include "daemon/core/explain/explainer.h"
#include "daemon/core/lease/deposits.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/statistics.h"
#include "daemon/service/limits/budget.h"
#include "daemon/service/limits/read_gate.h"
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

/// Answers builds, and questions about them. Thread-safe. The contract of Build and Leave is that
/// of BuildCoordinator.
class Builder {
 public:
  virtual ~Builder() = default;

  virtual BuildCoordinator::Ticket Build(std::shared_ptr<const BuildRequest> request,
                                         const Caller& caller, BuildCoordinator::Done done) = 0;
  virtual void Leave(BuildCoordinator::Ticket ticket) = 0;

  /// These explain why builds are misses. Their contracts are those of BuildCoordinator.
  virtual Result<std::shared_ptr<const BuildRequest>> RequestOf(const DigestPrefix& key,
                                                                const Peer& peer) = 0;
  virtual void ExplainKey(const DigestPrefix& key, const Peer& peer, Explainer::Done done) = 0;
  virtual BuildCoordinator::Ticket ExplainRequest(std::shared_ptr<const BuildRequest> request,
                                                  const Peer& peer, Explainer::Done done) = 0;
};

/// The daemon's Builder. The coordinator must outlive it.
class CoordinatorBuilder final : public Builder {
 public:
  explicit CoordinatorBuilder(BuildCoordinator& coordinator) : coordinator_(coordinator) {}

  BuildCoordinator::Ticket Build(std::shared_ptr<const BuildRequest> request, const Caller& caller,
                                 BuildCoordinator::Done done) override {
    return coordinator_.Start(std::move(request), caller, std::move(done));
  }
  void Leave(BuildCoordinator::Ticket ticket) override { coordinator_.Leave(ticket); }
  Result<std::shared_ptr<const BuildRequest>> RequestOf(const DigestPrefix& key,
                                                        const Peer& peer) override {
    return coordinator_.RequestOf(key, peer);
  }
  void ExplainKey(const DigestPrefix& key, const Peer& peer, Explainer::Done done) override {
    coordinator_.ExplainKey(key, peer, std::move(done));
  }
  BuildCoordinator::Ticket ExplainRequest(std::shared_ptr<const BuildRequest> request,
                                          const Peer& peer, Explainer::Done done) override {
    return coordinator_.Explain(std::move(request), peer, std::move(done));
  }

 private:
  BuildCoordinator& coordinator_;
};

/// The objects that the services of all users share. All are thread-safe and outlive every call.
struct BuildBackend {
  const ServiceLimits& limits;
  Builder& builder;
  Statistics& statistics;
  Budget& budget;
  ReadGate& read_gate;
  ReadGate& answer_gate;  ///< for answers about files, which arrive at the caller's pace
  Uploads& uploads;
  Deposits& deposits;
  DepositReaders& deposit_readers;
  std::shared_ptr<SentContents>
      sent_contents;  ///< shared, because a call that waits for a file may outlive the services
};

}  // namespace cccl_cache::daemon
