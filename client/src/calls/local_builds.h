// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <utility>

#include "cccl_cache/expected.h"
#include "client/src/calls/build_ledger.h"
#include "client/src/calls/fallback.h"
#include "client/src/calls/local_compiler.h"
#include "client/src/transport/readiness.h"
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
    Running(Waiting for_whom, std::shared_ptr<BuildRequest> asked,
            std::unique_ptr<LocalCompiler> started, Readiness& watching)
        : what(std::move(for_whom)),
          request(std::move(asked)),
          compiler(std::move(started)),
          readiness(watching) {}
    ~Running();

    Waiting what;
    std::shared_ptr<BuildRequest> request;  ///< what the compiler refers to
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

}  // namespace cccl_cache
