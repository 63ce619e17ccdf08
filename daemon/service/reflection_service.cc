// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/reflection_service.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/support/server_callback.h>

#include <set>

namespace cccl_cached {
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

/// The file before what it imports, each file once.
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

/// One stream of questions, each answered before the next is read; deletes itself at the end.
class ReflectionCall final : public grpc::ServerBidiReactor<Request, Response> {
 public:
  explicit ReflectionCall(const std::vector<std::string>& services) : services_(services) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    Answer();
    StartWrite(&response_);
  }

  void OnWriteDone(bool ok) override {
    if (ok) {
      StartRead(&request_);
    } else {
      Finish(grpc::Status::CANCELLED);
    }
  }

  void OnDone() override { delete this; }

 private:
  void Answer() {
    const auto& pool = *google::protobuf::DescriptorPool::generated_pool();
    response_.Clear();
    response_.set_valid_host(request_.host());
    *response_.mutable_original_request() = request_;
    switch (request_.message_request_case()) {
      case Request::kListServices:
        for (const std::string& name : services_) {
          response_.mutable_list_services_response()->add_service()->set_name(name);
        }
        break;
      case Request::kFileByFilename:
        AnswerFile(pool.FindFileByName(request_.file_by_filename()),
                   "file " + request_.file_by_filename(), response_);
        break;
      case Request::kFileContainingSymbol:
        AnswerFile(pool.FindFileContainingSymbol(request_.file_containing_symbol()),
                   "symbol " + request_.file_containing_symbol(), response_);
        break;
      case Request::kFileContainingExtension:
      case Request::kAllExtensionNumbersOfType:
        Refuse(grpc::StatusCode::NOT_FOUND, "the services of this daemon have no extensions",
               response_);
        break;
      case Request::MESSAGE_REQUEST_NOT_SET:
        Refuse(grpc::StatusCode::INVALID_ARGUMENT, "the request asks for nothing", response_);
        break;
    }
  }

  const std::vector<std::string>& services_;
  Request request_;
  Response response_;
};

}  // namespace

grpc::ServerBidiReactor<Request, Response>* ReflectionService::ServerReflectionInfo(
    grpc::CallbackServerContext* /*context*/) {
  return new ReflectionCall(services_);
}

}  // namespace cccl_cached
