// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "cccl_cache/expected.h"
#include "client/src/calls/daemon_stub.h"
#include "client/src/calls/local_compiler.h"
#include "client/src/transport/timing.h"
#include "client/src/wire/build_request.h"

namespace cccl_cache {

/// What is done with builds that the daemon does not do.
struct FallbackPolicy {
  bool local = true;                         ///< they are compiled here
  std::chrono::milliseconds local_after{0};  ///< so too what took it longer than this; 0: nothing
  std::string compiler;                      ///< path of cccl-cache-compile; empty: found
  bool quiet = false;                        ///< no line on standard error about the first one
};

/// Builds with the daemon, and without one where that can't be helped. Thread-safe and fork-safe.
class Fallback {
 public:
  explicit Fallback(FallbackPolicy policy) : policy_(std::move(policy)) {}

  Expected<TimedReply> Build(DaemonStub* daemon, RequestMessage* request, Deadline deadline);

  // The same in steps, for who has many builds under way (BuildBatch).

  /// Why the daemon at this socket is not asked now; none: it is.
  [[nodiscard]] std::optional<Error> NotAsked(const std::string& socket) const;
  /// How long the daemon may take for a build with that deadline.
  [[nodiscard]] Deadline PatienceFor(Deadline deadline) const;
  // What the daemon made of a build, which waited for it so long.
  void Answered() { rest_.Answered(); }
  void Failed(cccl_cache_status status, CircuitBreaker::Clock::duration waited);
  /// Whether what the daemon did not do, for this reason, is compiled here.
  [[nodiscard]] bool MayDoBetter(cccl_cache_status status, Deadline deadline) const;
  /// Begins with it. `why` the daemon did not: for the person who wonders. The request must outlive
  /// the compiler.
  Expected<std::unique_ptr<LocalCompiler>> Start(RequestMessage* request, const Error& why) const;
  /// What to say of a build that was compiled here, and failed.
  [[nodiscard]] static Error AfterLocal(Error error, const Error& why);
  /// Something was compiled here, because of that.
  void Note(const std::string& why) const;

 private:
  Expected<TimedReply> AskDaemon(DaemonStub* daemon, RequestMessage* request, Deadline deadline);
  Expected<BuildReply> BuildHere(RequestMessage* request, Deadline deadline,
                                 const Error& why) const;

  const FallbackPolicy policy_;
  CircuitBreaker rest_;
};

}  // namespace cccl_cache
