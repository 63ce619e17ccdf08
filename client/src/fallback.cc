// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/fallback.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "client/src/local_compiler.h"
#include "client/src/local_compiler_path.h"

namespace cccl_cache {
namespace {

using Clock = std::chrono::steady_clock;

// Whether the same compiler may do better here. On what it died of, it would die here too.
bool MayDoBetter(cccl_cache_status status, const Deadline& deadline) {
  return status != CCCL_CACHE_WORKER_CRASHED && !deadline.Passed();
}

// What cost the caller time, and would cost the next one as much.
bool KeptWaiting(cccl_cache_status status) {
  return status == CCCL_CACHE_DEADLINE || status == CCCL_CACHE_UNAVAILABLE;
}

}  // namespace

Expected<TimedReply> Fallback::Build(DaemonStub* daemon, BuildRequest* request, Deadline deadline) {
  if (!policy_.local) return daemon->Build(request, deadline);
  const Clock::time_point start = Clock::now();
  Expected<TimedReply> reply = AskDaemon(daemon, request, deadline);
  if (reply.ok() || !MayDoBetter(reply.error().status, deadline)) return reply;
  reply = BuildHere(request, deadline, std::move(reply).error());
  if (reply.ok()) {
    reply->total = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
  }
  return reply;
}

Expected<TimedReply> Fallback::AskDaemon(DaemonStub* daemon, BuildRequest* request,
                                         Deadline deadline) {
  if (rest_.Resting(Clock::now())) {
    return Error{CCCL_CACHE_UNAVAILABLE,
                 "cccl-cached at " + daemon->socket() +
                     " kept this program waiting in vain a moment ago, and is asked again soon"};
  }
  const bool bounded =
      policy_.local_after.count() > 0 && policy_.local_after < deadline.Remaining();
  Expected<TimedReply> reply =
      daemon->Build(request, bounded ? Deadline::After(policy_.local_after) : deadline);
  if (reply.ok()) {
    rest_.Answered();
  } else if (KeptWaiting(reply.error().status)) {
    rest_.Failed(Clock::now());
  }
  return reply;
}

Expected<TimedReply> Fallback::BuildHere(BuildRequest* request, Deadline deadline, Error why) {
  const Expected<std::string> compiler = FindLocalCompiler(policy_.compiler);
  if (!compiler.ok()) {
    why.message += "; nor can it be compiled without: " + compiler.error().message;
    return why;
  }
  Expected<BuildReply> reply = CompileHere(*compiler, request, deadline);
  if (!reply.ok()) {
    Error error = std::move(reply).error();
    if (error.message == why.message) return error;  // refused here as well
    error.message += " (compiled without cccl-cached, because: " + why.message + ")";
    return error;
  }
  Note(why.message);
  return TimedReply{*std::move(reply), {}, std::move(why.message)};
}

void Fallback::Note(const std::string& why) const {
  static std::atomic<bool> noted{false};
  if (policy_.quiet || noted.exchange(true)) return;
  const std::string line = "cccl-cache: compiled without cccl-cached, which keeps nothing: " + why +
                           " (said once in each process)\n";
  // Nowhere to say that stderr can't be written to.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace cccl_cache
