// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/many_request.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>
#include <string_view>
#include <utility>

#include "cccl_cache/v1/build.pb.h"
#include "daemon/service/wire/grpc_status.h"
#include "daemon/service/wire/small_message.h"
#include "daemon/service/wire/utf8.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

/// Fields of one message, unknown ones among them.
constexpr int kMostFields = 64;

constexpr uint32_t kTag =
    WireFormatLite::MakeTag(v1::BuildManyRequest::kTagFieldNumber, WireFormatLite::WIRETYPE_VARINT);
constexpr uint32_t kCancel = WireFormatLite::MakeTag(v1::BuildManyRequest::kCancelFieldNumber,
                                                     WireFormatLite::WIRETYPE_VARINT);
constexpr uint32_t kBuild = WireFormatLite::MakeTag(v1::BuildManyRequest::kBuildFieldNumber,
                                                    WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

Error NotOfMany() {
  return Error{ErrorCode::kInvalidRequest,
               "the message is not a cccl_cache.v1.BuildManyRequest with either a build or cancel"};
}

}  // namespace

Result<ManyRequest> ReadManyRequest(grpc::ByteBuffer& bytes) {
  grpc::ProtoBufferReader reader(&bytes);
  CodedInputStream input(&reader);
  google::protobuf::uint64 number = 0;
  google::protobuf::uint64 cancel = 0;
  bool build = false;
  for (int fields = 0; fields < kMostFields; ++fields) {
    const uint32_t field = input.ReadTag();
    if (field == 0) {
      if (!input.ConsumedEntireMessage() || build == (cancel != 0)) return NotOfMany();
      return ManyRequest{number, cancel != 0};
    }
    build = build || field == kBuild;
    const bool well = field == kTag      ? input.ReadVarint64(&number)
                      : field == kCancel ? input.ReadVarint64(&cancel)
                                         : WireFormatLite::SkipField(&input, field);
    if (!well) return NotOfMany();
  }
  return NotOfMany();
}

Result<ConvertedRequest> ReadOfMany(WireInput& message, const ServiceLimits& limits,
                                    const FindUpload& find_upload) {
  return ReadNestedBuild(message, v1::BuildManyRequest::kBuildFieldNumber, limits, find_upload);
}

grpc::ByteBuffer EncodeTaggedError(uint64_t tag, const Error& error) {
  v1::BuildManyReply reply;
  reply.set_tag(tag);
  auto& message = *reply.mutable_error();
  message.set_name(std::string(Name(error.code)));
  message.set_message(ToUtf8(std::string_view(error.message).substr(0, kLongestErrorText)));
  message.set_retry_ms(static_cast<uint64_t>(error.retry_after.count()));
  return Encode(reply);
}

}  // namespace cccl_cache::daemon
