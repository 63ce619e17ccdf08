// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/grpc_side.h"

#include <grpcpp/grpcpp.h>

#include <cstdio>

#include "cccl_cache/v1/build.grpc.pb.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

class GrpcSide final : public Side {
 public:
  GrpcSide(const char* name, const std::string& socket) : name_(name) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(16 << 20);
    stub_ = v1::Build::NewStub(
        grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
  }

  [[nodiscard]] const char* name() const override { return name_; }

  bool Ask(const Question& question) override {
    v1::BuildRequest request;
    v1::NvrtcProgram& program = *request.mutable_nvrtc();
    program.mutable_source()->set_inline_bytes(question.source);
    program.set_name("kernel.cu");
    program.add_options("-arch=sm_90");
    request.add_wanted(v1::ARTIFACT_KIND_CUBIN);
    v1::BuildReply reply;
    grpc::ClientContext context;
    const grpc::Status status = stub_->Build(&context, request, &reply);
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", name_, status.error_message().c_str());
      return false;
    }
    return reply.artifacts_size() == 1 && reply.artifacts(0).contents().size() == question.size;
  }

 private:
  const char* name_;
  std::unique_ptr<v1::Build::Stub> stub_;
};

}  // namespace

std::unique_ptr<Side> OpenGrpcSide(const char* name, const std::string& socket) {
  return std::make_unique<GrpcSide>(name, socket);
}

}  // namespace cccl_cache::daemon
