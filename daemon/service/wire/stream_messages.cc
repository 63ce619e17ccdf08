// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/stream_messages.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cccl_cache/v1/build.pb.h"
#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

/// Maximum fields of one message, with unknown ones.
constexpr int kMaxFields = 64;

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

namespace v1 = cccl_cache::v1;

constexpr uint64_t kMaxContents = 1u << 20;
/// Maximum bytes besides the contents: enough for a thousand answers without any.
constexpr uint64_t kMaxHeads = 256u << 10;
/// Maximum number of unknown fields.
constexpr int kMaxOthers = 64;

Error NotAnswers(std::string_view what) {
  return Error{ErrorCode::kInvalidRequest,
               fmt::format("the message is not a cccl_cache.v1.BuildWithFilesRequest with answers: "
                           "{}",
                           what)};
}

Result<CallerAnswer> FromProto(const v1::FileAnswer& message) {
  CallerAnswer answer;
  switch (message.kind()) {
    case v1::FILE_KIND_ABSENT:
      return answer;
    case v1::FILE_KIND_REFUSED:
      answer.refusal = message.reason().empty() ? "it does not say why" : message.reason();
      return answer;
    case v1::FILE_KIND_DIRECTORY:
      answer.kind = FileKind::kDirectory;
      answer.inode = {message.device(), message.inode()};
      return answer;
    case v1::FILE_KIND_REGULAR:
      break;
    default:
      return NotAnswers(fmt::format("{} is no kind of file", static_cast<int>(message.kind())));
  }
  answer.kind = FileKind::kFile;
  answer.inode = {message.device(), message.inode()};
  answer.size = message.size();
  if (message.sha256().empty()) return answer;
  answer.digest = Digest::FromBytes(message.sha256());
  if (!answer.digest) return NotAnswers("a SHA-256 has 32 bytes");
  if (!message.contents().empty()) return NotAnswers("contents where their digest is");
  return answer;
}

/// Reads the message in the next `length` bytes.
Status ReadAnswer(CodedInputStream& input, int length, FileExchange& exchange) {
  v1::FileAnswer message;
  const auto outer = input.PushLimit(length);
  if (!message.MergeFromCodedStream(&input) || !input.ConsumedEntireMessage() ||
      input.BytesUntilLimit() != 0) {
    return NotAnswers("it is damaged, or text in it is not UTF-8");
  }
  input.PopLimit(outer);
  auto answer = FromProto(message);
  if (!answer) return answer.error();
  const bool contents = answer->kind == FileKind::kFile && !message.contents().empty();
  if (auto taken = exchange.Answer(*std::move(answer)); !taken) return taken;
  return contents ? exchange.Append(message.contents()) : Status(Ok{});
}

}  // namespace

Result<ManyRequest> ReadManyRequest(grpc::ByteBuffer& bytes) {
  grpc::ProtoBufferReader reader(&bytes);
  CodedInputStream input(&reader);
  google::protobuf::uint64 number = 0;
  google::protobuf::uint64 cancel = 0;
  bool build = false;
  for (int fields = 0; fields < kMaxFields; ++fields) {
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
  message.set_message(ToUtf8(std::string_view(error.message).substr(0, kMaxErrorText)));
  message.set_retry_ms(static_cast<uint64_t>(error.retry_after.count()));
  return Encode(reply);
}

grpc::ByteBuffer EncodeQuestions(const std::vector<CallerQuestion>& questions) {
  v1::BuildWithFilesReply reply;
  for (const CallerQuestion& question : questions) {
    auto& message = *reply.add_questions();
    message.set_path(question.path);
    message.set_contents(question.contents);
  }
  return Encode(reply);
}

Status ReadFileAnswers(grpc::ByteBuffer& bytes, FileExchange& exchange) {
  if (bytes.Length() > kMaxContents + kMaxHeads) {
    return NotAnswers(
        fmt::format("{} bytes, and at most {} may be contents", bytes.Length(), kMaxContents));
  }
  grpc::ProtoBufferReader reader(&bytes);
  CodedInputStream input(&reader);
  int others = 0;
  while (const uint32_t tag = input.ReadTag()) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const bool piece =
        WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    const bool answer = piece && number == v1::BuildWithFilesRequest::kAnswersFieldNumber;
    const bool more = piece && number == v1::BuildWithFilesRequest::kMoreFieldNumber;
    if (number == v1::BuildWithFilesRequest::kBuildFieldNumber) return NotAnswers("another build");
    if (!answer && !more) {
      if (++others > kMaxOthers || !WireFormatLite::SkipField(&input, tag)) {
        return NotAnswers("it is damaged");
      }
      continue;
    }
    int length = 0;
    std::string contents;
    if (!input.ReadVarintSizeAsInt(&length)) return NotAnswers("it is damaged");
    if (more && !input.ReadString(&contents, length)) return NotAnswers("it is damaged");
    const Status taken = more ? exchange.Append(contents) : ReadAnswer(input, length, exchange);
    if (!taken) return taken;
  }
  return input.ConsumedEntireMessage() ? Status(Ok{}) : Status(NotAnswers("it is damaged"));
}

}  // namespace cccl_cache::daemon
