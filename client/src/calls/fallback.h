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

/// The policy for builds that the daemon does not complete.
struct FallbackPolicy {
  bool local = true;                         ///< compile them in this client's child process
  std::chrono::milliseconds local_after{0};  ///< also compile builds locally that take the daemon
                                             ///< longer than this; 0: no limit
  std::string compiler;  ///< path of cccl-cache-compile; empty: the installed one
  bool quiet = false;    ///< whether to write no line to standard error about the first local build
};

/// Builds with the daemon, or with the local compiler if the policy allows it. Thread-safe and
/// fork-safe.
class Fallback {
 public:
  explicit Fallback(FallbackPolicy policy) : policy_(std::move(policy)) {}

  Expected<TimedReply> Build(DaemonStub* daemon, RequestMessage* request, Deadline deadline);

  // The steps of Build, for BuildBatch, which runs many builds at once.

  /// Returns why the daemon at this socket must not be asked now. None: it may be asked.
  [[nodiscard]] std::optional<Error> NotAsked(const std::string& socket) const;
  /// Returns how long the daemon may take for a build with that deadline.
  [[nodiscard]] Deadline PatienceFor(Deadline deadline) const;
  // Record the daemon's result for a build, and how long the build waited.
  void Answered() { rest_.Answered(); }
  void Failed(cccl_cache_status status, CircuitBreaker::Clock::duration waited);
  /// Returns whether a build is compiled locally after the daemon failed with this status.
  [[nodiscard]] bool MayDoBetter(cccl_cache_status status, Deadline deadline) const;
  /// Starts the local compiler. `why` is the daemon's error, for messages. The request must outlive
  /// the compiler.
  Expected<std::unique_ptr<LocalCompiler>> Start(RequestMessage* request, const Error& why) const;
  /// Returns the daemon's error without its advice to compile locally.
  [[nodiscard]] static Error WithoutAdvice(Error why);
  /// Returns the error of a build for which the local compile failed too.
  [[nodiscard]] static Error AfterLocal(Error error, const Error& why);
  /// Records a local compile and its reason; may write the line to standard error.
  void Note(const std::string& why) const;

 private:
  Expected<TimedReply> AskDaemon(DaemonStub* daemon, RequestMessage* request, Deadline deadline);
  Expected<BuildReply> BuildHere(RequestMessage* request, Deadline deadline,
                                 const Error& why) const;

  const FallbackPolicy policy_;
  CircuitBreaker rest_;
};

}  // namespace cccl_cache
