// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "cccl_cache/expected.h"
#include "client/src/calls/batch_ledger.h"
#include "client/src/calls/daemon_builds.h"
#include "client/src/calls/daemon_stub.h"
#include "client/src/calls/fallback.h"
#include "client/src/calls/local_compiler.h"
#include "client/src/calls/result_cache.h"
#include "client/src/transport/readiness.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/build_request.h"

namespace cccl_cache {

/// The builds of a batch that the daemon did not do: compiled in processes of their own, as many at
/// once as there are processors. Not thread-safe; the others must outlive it.
class LocalBuilds {
 public:
  LocalBuilds(const Fallback* fallback, BuildLedger* builds, Readiness* readiness);

  /// `why` the daemon did not do it. It finishes in GoOn.
  void Add(uint64_t number, Error why) { waiting_.push_back({number, std::move(why)}); }
  /// Goes on as far as needs no wait.
  void GoOn();

 private:
  struct Waiting {
    uint64_t number;
    Error why;
  };
  /// One that is compiled now. Its end is that of its process.
  struct Running {
    Running(Waiting for_whom, std::shared_ptr<RequestMessage> asked,
            std::unique_ptr<LocalCompiler> started, Readiness& watching)
        : what(std::move(for_whom)),
          request(std::move(asked)),
          compiler(std::move(started)),
          readiness(watching) {}
    ~Running();

    Waiting what;
    std::shared_ptr<RequestMessage> request;  ///< what the compiler refers to
    std::unique_ptr<LocalCompiler> compiler;
    Readiness& readiness;  ///< which watches the compiler's socket
  };

  void Start(Waiting next);
  /// False: it goes on.
  bool TryToEnd(Running* running);

  const Fallback& fallback_;
  BuildLedger& builds_;
  Readiness& readiness_;
  const size_t most_;
  std::deque<Waiting> waiting_;  ///< some may have finished
  std::list<Running> running_;
};

/// Many builds at once, with the daemon, and without where Fallback says so. No thread: things go
/// on while one of its functions runs, and the descriptor is readable when that is worth while.
/// None of them waits but Next. Belongs to the process that opened it: in a forked child it is
/// empty. Not thread-safe; the daemon's stub, the fallback and the memory must outlive it.
class BuildBatch {
 public:
  static Expected<std::unique_ptr<BuildBatch>> Open(DaemonStub* daemon, Fallback* fallback,
                                                    ResultCache* memory);
  BuildBatch(const BuildBatch&) = delete;
  BuildBatch& operator=(const BuildBatch&) = delete;

  /// The request must own its contents.
  Expected<Done> Add(std::shared_ptr<RequestMessage> request, RequestName name, uint64_t tag,
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
  BuildBatch(DaemonStub* daemon, Fallback* fallback, ResultCache* memory, Readiness readiness);

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
