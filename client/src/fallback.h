// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "cccl_cache/expected.h"
#include "client/src/build_request.h"
#include "client/src/daemon_rest.h"
#include "client/src/daemon_stub.h"
#include "client/src/deadline.h"

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

  Expected<TimedReply> Build(DaemonStub* daemon, BuildRequest* request, Deadline deadline);

 private:
  Expected<TimedReply> AskDaemon(DaemonStub* daemon, BuildRequest* request, Deadline deadline);
  /// `why` the daemon did not: for the person who wonders.
  Expected<TimedReply> BuildHere(BuildRequest* request, Deadline deadline, Error why);
  void Note(const std::string& why) const;

  const FallbackPolicy policy_;
  DaemonRest rest_;
};

}  // namespace cccl_cache
