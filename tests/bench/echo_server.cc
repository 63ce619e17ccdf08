// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// bench_echo_server SOCKET
//
// The fastest server that stock gRPC allows. Answers each Build call with as many prepared bytes as
// the request's source asks for ("//fake: output-size N"), and makes and copies no message. Ends at
// SIGTERM.
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "cccl_cache/v1/build.grpc.pb.h"

namespace {

namespace v1 = cccl_cache::v1;

size_t WantedSize(const v1::BuildRequest& request) {
  static constexpr std::string_view kCommand = "output-size ";
  const std::string& source = request.nvrtc().source().inline_bytes();
  const size_t at = source.find(kCommand);
  return at == std::string::npos ? 0 : std::strtoul(&source[at + kCommand.size()], nullptr, 10);
}

grpc::ByteBuffer Reply(size_t size) {
  v1::BuildReply reply;
  reply.set_outcome(v1::OUTCOME_HIT);
  reply.set_tier(v1::TIER_MEMORY);
  reply.set_key(std::string(64, 'k'));
  reply.set_fingerprint(std::string(64, 'f'));
  reply.mutable_toolchain()->set_id(std::string(64, 't'));
  reply.mutable_toolchain()->set_version("13.0");
  v1::Artifact& artifact = *reply.add_artifacts();
  artifact.set_kind(v1::ARTIFACT_KIND_CUBIN);
  artifact.set_size(size);
  artifact.set_sha256(std::string(32, 's'));
  artifact.set_contents(std::string(size, 'x'));
  const grpc::Slice slice(reply.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

/// Thread-safe.
class EchoService final : public v1::Build::WithRawCallbackMethod_Build<v1::Build::Service> {
 public:
  grpc::ServerUnaryReactor* Build(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* bytes,
                                  grpc::ByteBuffer* answer) override {
    v1::BuildRequest request;
    grpc::ByteBuffer copy = *bytes;
    const grpc::Status status =
        grpc::SerializationTraits<v1::BuildRequest>::Deserialize(&copy, &request);
    if (status.ok()) *answer = Prepared(WantedSize(request));
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

 private:
  grpc::ByteBuffer Prepared(size_t size) {
    const std::scoped_lock lock(mutex_);
    const auto found = replies_.find(size);
    if (found != replies_.end()) return found->second;
    return replies_.emplace(size, Reply(size)).first->second;
  }

  std::mutex mutex_;
  std::map<size_t, grpc::ByteBuffer> replies_;  // guarded by mutex_
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_echo_server SOCKET\n");
    return 2;
  }
  EchoService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string("unix:") + argv[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 5;
  server->Wait();
}
