// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// cccl-cache-compile: one build for the client library that started it, without a daemon.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/files/standard_descriptors.h"
#include "base/files/user_cache.h"
#include "daemon/configuration/load.h"
#include "daemon/local/local_builder.h"
#include "daemon/local/request_io.h"
#include "daemon/process/worker_path.h"
#include "daemon/service/wire/build_reply.h"
#include "daemon/service/wire/build_request.h"

namespace cccl_cache::daemon {
namespace {

/// Requests come from the user's own program, so they need no limits.
ServiceLimits NoLimits() {
  constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
  ServiceLimits limits;
  limits.source_bytes = limits.headers = limits.options = kAny;
  limits.option_bytes = limits.name_bytes = kAny;
  return limits;
}

Result<ConvertedRequest> Parse(std::string_view bytes) {
  ProtoReader message(bytes);
  return ReadBuild(message, NoLimits(), [](const auto&) { return nullptr; });
}

bool Wants(const ConvertedRequest& request, ArtifactKind kind) {
  return request.wanted.empty() || std::ranges::find(request.wanted, kind) != request.wanted.end();
}

std::string Encode(BuildAnswer answer, const ConvertedRequest& request) {
  if (answer.outcome != Outcome::kFailed) {
    answer.outcome = kLocalOutcome;
    answer.reason.clear();
  }
  answer.request_id = 0;  // there is no daemon whose log has the id
  std::string reply = EncodeReplyHead(answer);
  for (const ArtifactPart& part : answer.artifact->parts) {
    if (!Wants(request, part.kind)) continue;
    reply += EncodeArtifactHead(part, ArtifactBytes::kFollow);
    reply += part.bytes;
  }
  return reply;
}

Result<std::string> Build(const std::string& request_bytes) {
  const Surroundings surroundings = Surroundings::OfThisProcess();
  const Result<LoadedConfiguration> loaded = LoadConfiguration({}, surroundings);
  if (!loaded) return loaded.error();
  Result<std::string> worker = FindWorker();
  if (!worker) return worker.error();
  Result<ConvertedRequest> request = Parse(request_bytes);
  if (!request) return request.error();
  // The builder is never deleted. The process ends soon after this, and all threads with it.
  auto* builder = new LocalBuilder({.configuration = loaded->values,
                                    .worker = *worker,
                                    .facts = UserCache::Of("toolchains"),
                                    .packages = PackagesAround(*worker)});
  const Result<BuildAnswer> answer = builder->Build(request->request);
  if (!answer) return answer.error();
  return Encode(*answer, *request);
}

int Main() {
  // Closes all descriptors that the parent process had open.
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  const Result<std::string> request = ReceiveRequest(STDIN_FILENO);
  if (!request) {
    std::fputs(("cccl-cache-compile: " + request.error().message + "\n").c_str(), stderr);
    return EXIT_FAILURE;
  }
  EndWithCaller(STDIN_FILENO);
  const Result<std::string> reply = Build(*request);
  const bool sent =
      reply ? SendReply(STDIN_FILENO, *reply) : SendError(STDIN_FILENO, reply.error());
  return sent ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace cccl_cache::daemon

int main() {
  cccl_cache::OccupyStandardDescriptors();
  _exit(cccl_cache::daemon::Main());
}
