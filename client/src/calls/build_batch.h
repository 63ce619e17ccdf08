// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "cccl_cache/expected.h"
#include "client/src/calls/build_ledger.h"
#include "client/src/calls/daemon_builds.h"
#include "client/src/calls/daemon_stub.h"
#include "client/src/calls/fallback.h"
#include "client/src/calls/local_builds.h"
#include "client/src/calls/result_memory.h"
#include "client/src/transport/readiness.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/build_request.h"

namespace cccl_cache {

/// Many builds at once, with the daemon, and without where Fallback says so. No thread: things go
/// on while one of its functions runs, and the descriptor is readable when that is worth while.
/// None of them waits but Next. Belongs to the process that opened it: in a forked child it is
/// empty. Not thread-safe; the daemon's stub, the fallback and the memory must outlive it.
class BuildBatch {
 public:
  static Expected<std::unique_ptr<BuildBatch>> Open(DaemonStub* daemon, Fallback* fallback,
                                                    ResultMemory* memory);
  BuildBatch(const BuildBatch&) = delete;
  BuildBatch& operator=(const BuildBatch&) = delete;

  /// The request must own its contents.
  Expected<Done> Add(std::shared_ptr<BuildRequest> request, RequestName name, uint64_t tag,
                     Deadline deadline);
  /// What this process knows already.
  Expected<Done> AddKnown(std::shared_ptr<const BuildReply> reply, uint64_t tag);
  /// All builds with that tag that have no answer yet finish as cancelled.
  void Cancel(uint64_t tag);
  /// The next that finished; none: there was none until the deadline, or none is left.
  std::optional<BuildLedger::Finished> Next(const Deadline& deadline);

  /// Builds for which Next has still to be called.
  [[nodiscard]] size_t pending() const { return owned() ? builds_.size() : 0; }
  [[nodiscard]] int fd() const { return readiness_.fd(); }

 private:
  using Clock = std::chrono::steady_clock;
  BuildBatch(DaemonStub* daemon, Fallback* fallback, ResultMemory* memory, Readiness readiness);

  /// Does what can be done without waiting.
  void GoOn();
  void EndLate();
  void Rearm();
  /// The daemon does not do this build: it is compiled here, or has failed.
  void Fail(uint64_t number, Error error);
  [[nodiscard]] bool owned() const { return getpid() == owner_; }

  DaemonStub& daemon_;
  Fallback& fallback_;
  const pid_t owner_;
  Readiness readiness_;
  BuildLedger builds_;
  DaemonBuilds asked_;
  LocalBuilds local_;
};

}  // namespace cccl_cache
