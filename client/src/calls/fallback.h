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
#include "client/src/wire/request_message.h"

namespace cccl_cache {

/// What happens to builds that the daemon does not complete.
struct FallbackPolicy {
  bool local = true;                         ///< whether a child process of this client compiles
                                             ///< them
  std::chrono::milliseconds local_after{0};  ///< also compile a build locally if the daemon takes
                                             ///< longer than this; 0: no limit
  std::string compiler;  ///< path of cccl-cache-compile; empty: the installed one
  bool quiet = false;    ///< whether the first local compile of the process writes no line to
                         ///< standard error
};

/// Gives a build to the daemon and, if the daemon does not complete it and the policy allows it, to
/// the local compiler. Thread-safe. It can be used in a forked child.
class Fallback {
 public:
  explicit Fallback(FallbackPolicy policy) : policy_(std::move(policy)) {}

  Expected<TimedReply> Build(DaemonStub* daemon, RequestMessage* request, Deadline deadline);

  // The functions below are the parts of Build. BuildBatch calls them, because it runs many builds
  // at once.

  /// Returns an error if the daemon failed recently and must not be asked now. None: it may be
  /// asked.
  [[nodiscard]] std::optional<Error> NotAsked(const std::string& socket) const;
  /// Returns the time before which the daemon must answer a build with this deadline.
  [[nodiscard]] Deadline PatienceFor(Deadline deadline) const;
  // Both record for the circuit breaker whether the daemon answered. `waited` is the time that the
  // build has waited.
  void Answered() { rest_.Answered(); }
  void Failed(cccl_cache_status status, CircuitBreaker::Clock::duration waited);
  /// Returns whether the local compiler may complete a build after this error of the daemon.
  [[nodiscard]] bool MayDoBetter(cccl_cache_status status, Deadline deadline) const;
  /// Starts the local compiler. `why` is the daemon's error, for messages. The request must outlive
  /// the compiler.
  Expected<std::unique_ptr<LocalCompiler>> Start(RequestMessage* request, const Error& why) const;
  /// Returns the daemon's error without the part of the message that advises a local compile.
  [[nodiscard]] static Error WithoutAdvice(Error why);
  /// Returns the error of a build that failed in the local compiler (`error`) after the daemon
  /// (`why`).
  [[nodiscard]] static Error AfterLocal(Error error, const Error& why);
  /// Called after a local compile. Writes a line with the reason to standard error, once per
  /// process, unless the policy is quiet.
  void Note(const std::string& why) const;

 private:
  Expected<TimedReply> AskDaemon(DaemonStub* daemon, RequestMessage* request, Deadline deadline);
  Expected<BuildReply> BuildHere(RequestMessage* request, Deadline deadline,
                                 const Error& why) const;

  const FallbackPolicy policy_;
  CircuitBreaker rest_;
};

}  // namespace cccl_cache
