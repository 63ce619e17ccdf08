// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/fallback.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "client/src/calls/local_compiler.h"
#include "proto/options/options.h"

namespace cccl_cache {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Expected<TimedReply> Fallback::Build(DaemonStub* daemon, RequestMessage* request,
                                     Deadline deadline) {
  if (!policy_.local) return daemon->Build(request, deadline);
  const Clock::time_point start = Clock::now();
  Expected<TimedReply> reply = AskDaemon(daemon, request, deadline);
  if (reply.ok() || !request->may_be_compiled() || !MayDoBetter(reply.error().status, deadline)) {
    return reply;
  }
  const Error why = WithoutAdvice(std::move(reply).error());
  Expected<BuildReply> built = BuildHere(request, deadline, why);
  if (!built.ok()) return std::move(built).error();
  return TimedReply{std::make_shared<const BuildReply>(*std::move(built)),
                    std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start),
                    why.message};
}

std::optional<Error> Fallback::NotAsked(const std::string& socket) const {
  if (!policy_.local || !rest_.Resting(Clock::now())) return std::nullopt;
  return Error{CCCL_CACHE_UNAVAILABLE,
               "cccl-cached at " + socket +
                   " did not answer this program in time a moment ago, and is asked again soon"};
}

Deadline Fallback::PatienceFor(Deadline deadline) const {
  const bool bounded = policy_.local && policy_.local_after.count() > 0 &&
                       policy_.local_after < deadline.Remaining();
  return bounded ? Deadline::After(policy_.local_after) : deadline;
}

void Fallback::Failed(cccl_cache_status status, Clock::duration waited) {
  // Only a passed `local_after` counts as a failure of the daemon. If the caller's own deadline
  // passed, the daemon may still be compiling.
  const bool bound_passed = status == CCCL_CACHE_DEADLINE && policy_.local_after.count() > 0 &&
                            waited >= policy_.local_after;
  // The caller has lost time by this failure. The pause of the circuit breaker saves the next
  // caller from it.
  if (bound_passed || status == CCCL_CACHE_UNAVAILABLE) rest_.Failed(Clock::now(), waited);
}

// A crash of the daemon's compiler is excluded: the same input would crash the local compiler too.
bool Fallback::MayDoBetter(cccl_cache_status status, Deadline deadline) const {
  return policy_.local && status != CCCL_CACHE_WORKER_CRASHED && !deadline.Passed();
}

Expected<TimedReply> Fallback::AskDaemon(DaemonStub* daemon, RequestMessage* request,
                                         Deadline deadline) {
  if (auto resting = NotAsked(daemon->socket())) return *std::move(resting);
  const Clock::time_point start = Clock::now();
  Expected<TimedReply> reply = daemon->Build(request, PatienceFor(deadline));
  if (reply.ok()) {
    Answered();
  } else {
    Failed(reply.error().status, Clock::now() - start);
  }
  return reply;
}

Expected<std::unique_ptr<LocalCompiler>> Fallback::Start(RequestMessage* request,
                                                         const Error& why) const {
  const Expected<std::string> compiler = FindLocalCompiler(policy_.compiler);
  if (!compiler.ok()) {
    Error error = why;
    error.message += "; nor can it be compiled without: " + compiler.error().message;
    return error;
  }
  auto started = LocalCompiler::Start(*compiler, request);
  if (!started.ok()) return AfterLocal(std::move(started).error(), why);
  return started;
}

Error Fallback::WithoutAdvice(Error why) {
  why.message = WithoutLocalBuildAdvice(std::move(why.message));
  return why;
}

Error Fallback::AfterLocal(Error error, const Error& why) {
  // If the local compiler refused the input like the daemon, both messages are the same, except
  // that the daemon may append the number of its request.
  const bool same =
      why.message == error.message || why.message.starts_with(error.message + " [request ");
  if (same && !error.message.empty()) return error;
  error.message += " (compiled without cccl-cached, because: " + why.message + ")";
  return error;
}

Expected<BuildReply> Fallback::BuildHere(RequestMessage* request, Deadline deadline,
                                         const Error& why) const {
  auto compiler = Start(request, why);
  if (!compiler.ok()) return std::move(compiler).error();
  Expected<BuildReply> reply = (*compiler)->Finish(deadline);
  if (!reply.ok()) return AfterLocal(std::move(reply).error(), why);
  Note(why.message);
  return reply;
}

void Fallback::Note(const std::string& why) const {
  static std::atomic<bool> noted{false};
  if (policy_.quiet || noted.exchange(true)) return;
  const std::string line = "cccl-cache: compiled without cccl-cached, which keeps nothing: " + why +
                           " (said once in each process)\n";
  // A failed write to stderr can't be reported.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace cccl_cache
