// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// cccl-cache-compile: one build for the client library that started it, without a daemon.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "cccl_cache/v1/build.pb.h"
#include "daemon/configuration/load.h"
#include "daemon/local/exchange.h"
#include "daemon/local/identity_cache.h"
#include "daemon/local/local_builder.h"
#include "daemon/process/worker_path.h"
#include "daemon/service/convert.h"

namespace cccl_cached {
namespace {

namespace v1 = cccl_cache::v1;

/// The client's own program: no bound protects it from itself.
ServiceLimits NoLimits() {
  constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
  ServiceLimits limits;
  limits.source_bytes = limits.headers = limits.options = kAny;
  limits.option_bytes = limits.name_bytes = kAny;
  return limits;
}

Result<ConvertedRequest> Parse(const std::string& bytes) {
  v1::BuildRequest message;
  if (!message.ParseFromString(bytes)) {
    return Error{ErrorCode::kInvalidRequest,
                 "the request can't be read: a name or option in it is not UTF-8, or the client "
                 "library and cccl-cache-compile are not of one version"};
  }
  return FromProto(std::move(message), NoLimits(), [](const auto&) { return nullptr; });
}

bool Wants(const ConvertedRequest& request, cccl_cache::ArtifactKind kind) {
  return request.wanted.empty() || std::ranges::find(request.wanted, kind) != request.wanted.end();
}

std::string Encode(const BuildAnswer& answer, const ConvertedRequest& request) {
  v1::BuildReply reply = ToProto(answer);
  if (answer.outcome != Outcome::kFailed) {
    reply.set_outcome(v1::OUTCOME_LOCAL);
    reply.clear_reason();
  }
  for (const ArtifactPart& part : answer.artifact->parts) {
    if (!Wants(request, part.kind)) continue;
    v1::Artifact* artifact = reply.add_artifacts();
    *artifact = ToProto(part);
    artifact->set_contents(part.bytes);
  }
  return reply.SerializeAsString();
}

Result<std::string> Build(const std::string& request_bytes) {
  const Surroundings surroundings = Surroundings::OfThisProcess();
  const Result<LoadedConfiguration> loaded = LoadConfiguration({}, surroundings);
  if (!loaded) return loaded.error();
  Result<std::string> worker = FindWorker();
  if (!worker) return worker.error();
  Result<ConvertedRequest> request = Parse(request_bytes);
  if (!request) return request.error();
  // Left as it is at the end: the process ends, and what it started with it.
  auto* builder = new LocalBuilder(
      {.configuration = loaded->values,
       .worker = *std::move(worker),
       .identities = IdentityCache::DefaultDirectory(surroundings.Variable("XDG_CACHE_HOME"),
                                                     surroundings.Variable("HOME"))});
  const Result<BuildAnswer> answer = builder->Build(request->request);
  if (!answer) return answer.error();
  return Encode(*answer, *request);
}

int Main() {
  // Whatever the program that we were started from had open.
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  const Result<std::string> request = ReceiveRequest(STDIN_FILENO);
  if (!request) {
    fmt::print(stderr, "cccl-cache-compile: {}\n", request.error().message);
    return EXIT_FAILURE;
  }
  EndWithCaller(STDIN_FILENO);
  const Result<std::string> reply = Build(*request);
  const bool sent =
      reply ? SendReply(STDIN_FILENO, *reply) : SendError(STDIN_FILENO, reply.error());
  return sent ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace cccl_cached

int main() { _exit(cccl_cached::Main()); }
