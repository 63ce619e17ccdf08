// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>
#include <utility>

#include "daemon/service/calls/stream_call.h"
#include "daemon/service/wire/messages.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"

namespace cccl_cache::daemon {
namespace {

namespace reflection = grpc::reflection::v1alpha;
using google::protobuf::FileDescriptor;
using Request = reflection::ServerReflectionRequest;
using Response = reflection::ServerReflectionResponse;

void Refuse(grpc::StatusCode code, std::string message, Response& response) {
  auto& error = *response.mutable_error_response();
  error.set_error_code(code);
  error.set_error_message(std::move(message));
}

/// Appends the description of a file, then those of the files that it imports. Each file is
/// appended once.
void Describe(const FileDescriptor& file, std::set<const FileDescriptor*>& seen,
              reflection::FileDescriptorResponse& response) {
  if (!seen.insert(&file).second) return;
  google::protobuf::FileDescriptorProto description;
  file.CopyTo(&description);
  description.SerializeToString(response.add_file_descriptor_proto());
  for (int i = 0; i < file.dependency_count(); ++i) {
    Describe(*file.dependency(i), seen, response);
  }
}

void AnswerFile(const FileDescriptor* file, const std::string& name, Response& response) {
  if (file == nullptr) {
    Refuse(grpc::StatusCode::NOT_FOUND, "this daemon has no " + name, response);
    return;
  }
  std::set<const FileDescriptor*> seen;
  Describe(*file, seen, *response.mutable_file_descriptor_response());
}

Response Answer(const Request& request, const std::vector<std::string>& services) {
  const auto& pool = *google::protobuf::DescriptorPool::generated_pool();
  Response response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case Request::kListServices:
      for (const std::string& name : services) {
        response.mutable_list_services_response()->add_service()->set_name(name);
      }
      break;
    case Request::kFileByFilename:
      AnswerFile(pool.FindFileByName(request.file_by_filename()),
                 "file " + request.file_by_filename(), response);
      break;
    case Request::kFileContainingSymbol:
      AnswerFile(pool.FindFileContainingSymbol(request.file_containing_symbol()),
                 "symbol " + request.file_containing_symbol(), response);
      break;
    case Request::kFileContainingExtension:
    case Request::kAllExtensionNumbersOfType:
      Refuse(grpc::StatusCode::NOT_FOUND, "the services of this daemon have no extensions",
             response);
      break;
    case Request::MESSAGE_REQUEST_NOT_SET:
      Refuse(grpc::StatusCode::INVALID_ARGUMENT, "the request asks for nothing", response);
      break;
  }
  return response;
}

/// One call with a stream of requests. Answers each request before it reads the next one.
class ReflectionCall final : public StreamCall {
 public:
  ReflectionCall(BuildBackend& backend, Account account, CallStream& stream,
                 const std::vector<std::string>& services)
      : StreamCall(backend, account, stream), services_(services) {
    Begin([this] {
      if (Hold(Resource::kCalls) && Hold(Resource::kStreams)) Read();
    });
  }

 private:
  void OnMessage(grpc::ByteBuffer& message) override {
    Request request;
    if (auto decoded = DecodeSmall(message, request); !decoded) return End(decoded.error());
    Send(Encode(Answer(request, services_)));
  }
  void OnSpace() override { Read(); }
  void OnHalfClose() override { End(); }

  const std::vector<std::string>& services_;
};

}  // namespace

ReflectionService::ReflectionService(BuildBackend& backend, Account account,
                                     std::vector<std::string> services)
    : services_(std::move(services)) {
  Serve("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        [this, &backend, account](CallStream& stream) {
          new ReflectionCall(backend, account, stream, services_);
        });
}

}  // namespace cccl_cache::daemon
