// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "base/owner_process.h"
#include "cccl_cache/expected.h"
#include "client/src/calls/batch_ledger.h"
#include "client/src/calls/daemon_builds.h"
#include "client/src/calls/daemon_stub.h"
#include "client/src/calls/fallback.h"
#include "client/src/calls/local_compiler.h"
#include "client/src/calls/result_cache.h"
#include "client/src/transport/readiness.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/request_message.h"

namespace cccl_cache {

/// Compiles the builds of a batch that the daemon did not complete. Each compile runs in a child
/// process, and at most as many run at once as there are processors. Not thread-safe. The arguments
/// of the constructor must outlive it.
class LocalBuilds {
 public:
  LocalBuilds(const Fallback* fallback, BuildLedger* builds, Readiness* readiness);

  /// Adds a build that is still in the ledger. `why` is the error with which the daemon failed. A
  /// later call of GoOn starts the compile.
  void Add(uint64_t number, Error why) { waiting_.push_back({number, std::move(why)}); }
  /// Starts compiles, and takes the results of those that have ended. Does not wait.
  void GoOn();

 private:
  struct Waiting {
    uint64_t number;
    Error why;
  };
  /// A build with its child process. The destructor ends the process.
  struct Running {
    Running(Waiting for_whom, std::shared_ptr<RequestMessage> asked,
            std::unique_ptr<LocalCompiler> started, Readiness& watching)
        : what(std::move(for_whom)),
          request(std::move(asked)),
          compiler(std::move(started)),
          readiness(watching) {}
    ~Running();

    Waiting what;
    std::shared_ptr<RequestMessage> request;  ///< must live as long as the compiler
    std::unique_ptr<LocalCompiler> compiler;
    Readiness& readiness;  ///< watches the socket of `compiler`
  };

  void Start(Waiting next);
  /// Takes the result if the compile has ended. Returns false if it still runs.
  bool TryToEnd(Running* running);

  const Fallback& fallback_;
  BuildLedger& builds_;
  Readiness& readiness_;
  const size_t most_;
  std::deque<Waiting> waiting_;  ///< builds without a process yet; some may have finished since,
                                 ///< for example by Cancel
  std::list<Running> running_;
};

/// A batch of builds. The daemon does the builds. If it fails, the local compiler does them, if
/// Fallback allows it. A batch starts no thread: builds make progress only during calls of its
/// functions. fd() is readable when a call can make progress. Only Next waits. A forked child can't
/// use the batch of its parent. Not thread-safe. The arguments of Open must outlive it.
class BuildBatch {
 public:
  static Expected<std::unique_ptr<BuildBatch>> Open(DaemonStub* daemon, Fallback* fallback,
                                                    ResultCache* memory);
  BuildBatch(const BuildBatch&) = delete;
  BuildBatch& operator=(const BuildBatch&) = delete;

  /// Adds a build. The request must have its own copy of the contents. `name` is the key of the
  /// result cache.
  Expected<Done> Add(std::shared_ptr<RequestMessage> request, RequestName name, uint64_t tag,
                     Deadline deadline);
  /// Adds a finished build, whose reply was found in the result cache.
  Expected<Done> AddKnown(std::shared_ptr<const BuildReply> reply, uint64_t tag);
  /// Cancels the unfinished builds with this tag. Next returns each with CCCL_CACHE_CANCELLED.
  void Cancel(uint64_t tag);
  /// Waits for a build to finish and returns it. None: no build finished before the deadline, or
  /// the batch has no more builds.
  std::optional<BuildLedger::Finished> Next(const Deadline& deadline);

  /// Returns the number of builds that Next has not returned yet.
  [[nodiscard]] size_t pending() const { return owned() ? builds_.size() : 0; }
  [[nodiscard]] int fd() const { return readiness_.fd(); }

 private:
  using Clock = std::chrono::steady_clock;
  BuildBatch(DaemonStub* daemon, Fallback* fallback, ResultCache* memory, Readiness readiness);

  /// Advances all builds without waiting.
  void GoOn();
  void EndLate();
  void Rearm();
  /// Called when the daemon did not complete a build. Gives the build to the local compiler if that
  /// is allowed. Otherwise finishes the build with the error.
  void Fail(uint64_t number, Error error);
  [[nodiscard]] bool owned() const { return owner_.IsThis(); }

  DaemonStub& daemon_;
  Fallback& fallback_;
  const OwnerProcess owner_;
  Readiness readiness_;
  BuildLedger builds_;
  DaemonBuilds asked_;
  LocalBuilds local_;
};

}  // namespace cccl_cache
