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

/// The builds of a batch that the daemon did not complete. A child process compiles each, and at
/// most one child per processor runs at once. Not thread-safe; the constructor's arguments must
/// outlive it.
class LocalBuilds {
 public:
  LocalBuilds(const Fallback* fallback, BuildLedger* builds, Readiness* readiness);

  /// Adds a build; `why` is the daemon's error. The build finishes in GoOn.
  void Add(uint64_t number, Error why) { waiting_.push_back({number, std::move(why)}); }
  /// Advances the compiles as far as possible without waiting.
  void GoOn();

 private:
  struct Waiting {
    uint64_t number;
    Error why;
  };
  /// A build that is being compiled. Its destructor ends the child process.
  struct Running {
    Running(Waiting for_whom, std::shared_ptr<RequestMessage> asked,
            std::unique_ptr<LocalCompiler> started, Readiness& watching)
        : what(std::move(for_whom)),
          request(std::move(asked)),
          compiler(std::move(started)),
          readiness(watching) {}
    ~Running();

    Waiting what;
    std::shared_ptr<RequestMessage> request;  ///< the compiler refers to it
    std::unique_ptr<LocalCompiler> compiler;
    Readiness& readiness;  ///< watches the compiler's socket
  };

  void Start(Waiting next);
  /// Finishes the build if its compiler has ended. Returns false if it still runs.
  bool TryToEnd(Running* running);

  const Fallback& fallback_;
  BuildLedger& builds_;
  Readiness& readiness_;
  const size_t most_;
  std::deque<Waiting> waiting_;  ///< some may have finished already
  std::list<Running> running_;
};

/// A batch of builds. The daemon does the builds, or the local compiler if Fallback allows it. A
/// batch starts no thread: builds advance only while one of its functions runs. The descriptor is
/// readable when a call can make progress. Only Next waits. A batch belongs to the process that
/// opened it: in a forked child it is empty. Not thread-safe; the daemon's stub, the fallback and
/// the result cache must outlive it.
class BuildBatch {
 public:
  static Expected<std::unique_ptr<BuildBatch>> Open(DaemonStub* daemon, Fallback* fallback,
                                                    ResultCache* memory);
  BuildBatch(const BuildBatch&) = delete;
  BuildBatch& operator=(const BuildBatch&) = delete;

  /// Adds a build. The request must own its contents.
  Expected<Done> Add(std::shared_ptr<RequestMessage> request, RequestName name, uint64_t tag,
                     Deadline deadline);
  /// Adds a build whose reply this process has cached.
  Expected<Done> AddKnown(std::shared_ptr<const BuildReply> reply, uint64_t tag);
  /// Cancels the unfinished builds with that tag.
  void Cancel(uint64_t tag);
  /// Returns the next finished build. None if no build finished before the deadline, or none is
  /// left.
  std::optional<BuildLedger::Finished> Next(const Deadline& deadline);

  /// Returns the number of builds that Next has not returned yet.
  [[nodiscard]] size_t pending() const { return owned() ? builds_.size() : 0; }
  [[nodiscard]] int fd() const { return readiness_.fd(); }

 private:
  using Clock = std::chrono::steady_clock;
  BuildBatch(DaemonStub* daemon, Fallback* fallback, ResultCache* memory, Readiness readiness);

  /// Advances all builds as far as possible without waiting.
  void GoOn();
  void EndLate();
  void Rearm();
  /// Handles a build that the daemon did not complete: starts the local compiler, or fails the
  /// build.
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
