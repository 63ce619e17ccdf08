// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/stream_messages.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cccl_cache/v1/build.pb.h"
#include "daemon/service/wire/messages.h"
#include "proto/field_numbers.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

/// Maximum number of fields in one BuildManyRequest. Unknown fields count too.
constexpr int kMaxFieldsOfOne = 64;

Error NotOfMany() {
  return Error{ErrorCode::kInvalidRequest,
               "the message is not a cccl_cache.v1.BuildManyRequest with either a build or cancel"};
}

constexpr uint64_t kMaxContents = 1u << 20;
/// Maximum bytes of a message in addition to contents. A thousand answers without contents fit.
constexpr uint64_t kMaxHeads = 256u << 10;
/// Maximum number of unknown fields in one BuildWithFilesRequest.
constexpr int kMaxOthers = 64;

Error NotAnswers(std::string_view what) {
  return Error{ErrorCode::kInvalidRequest,
               fmt::format("the message is not a cccl_cache.v1.BuildWithFilesRequest with answers: "
                           "{}",
                           what)};
}

/// The received fields of a FileAnswer before any check.
struct FileAnswer {
  int32_t kind = 0;
  std::pair<uint64_t, uint64_t> inode;
  uint64_t size = 0;
  std::string sha256;
  std::string contents;
  std::string reason;
};

FileAnswer ReadFields(ProtoReader& outer) {
  using Field = fields::FileAnswer;
  FileAnswer answer;
  ProtoReader message = outer.Message();
  while (const uint32_t number = message.Next()) {
    if (number == Field::kKind) answer.kind = static_cast<int32_t>(message.Number());
    if (number == Field::kDevice) answer.inode.first = message.Number();
    if (number == Field::kInode) answer.inode.second = message.Number();
    if (number == Field::kSize) answer.size = message.Number();
    if (number == Field::kSha256) answer.sha256 = message.Bytes();
    if (number == Field::kContents) answer.contents = message.Bytes();
    if (number == Field::kReason) answer.reason = message.Bytes();
  }
  return answer;
}

Result<CallerAnswer> Convert(const FileAnswer& message) {
  CallerAnswer answer;
  switch (message.kind) {
    case v1::FILE_KIND_ABSENT:
      return answer;
    case v1::FILE_KIND_REFUSED:
      answer.refusal = message.reason.empty() ? "it does not say why" : message.reason;
      return answer;
    case v1::FILE_KIND_DIRECTORY:
      answer.kind = FileKind::kDirectory;
      answer.inode = message.inode;
      return answer;
    case v1::FILE_KIND_REGULAR:
      break;
    default:
      return NotAnswers(fmt::format("{} is no kind of file", message.kind));
  }
  answer.kind = FileKind::kFile;
  answer.inode = message.inode;
  answer.size = message.size;
  if (message.sha256.empty()) return answer;
  answer.digest = Digest::FromBytes(message.sha256);
  if (!answer.digest) return NotAnswers("a SHA-256 has 32 bytes");
  if (!message.contents.empty()) return NotAnswers("contents where their digest is");
  return answer;
}

/// Reads the answer in the field that `outer` has reached, and passes it to `exchange`.
Status ReadAnswer(ProtoReader& outer, FileExchange& exchange) {
  const FileAnswer message = ReadFields(outer);
  if (!outer.ok()) return NotAnswers("it is damaged");
  auto answer = Convert(message);
  if (!answer) return answer.error();
  const bool contents = answer->kind == FileKind::kFile && !message.contents.empty();
  if (auto taken = exchange.Answer(*std::move(answer)); !taken) return taken;
  return contents ? exchange.Append(message.contents) : Status(Ok{});
}

}  // namespace

Result<ManyRequest> ReadManyRequest(const grpc::ByteBuffer& bytes) {
  using Field = fields::BuildManyRequest;
  const BufferPieces pieces(bytes);
  ProtoReader message(pieces.views());
  ManyRequest request;
  bool build = false;
  int count = 0;
  while (const uint32_t number = message.Next()) {
    if (++count >= kMaxFieldsOfOne) return NotOfMany();
    if (number == Field::kTag) request.tag = message.Number();
    if (number == Field::kCancel) request.cancel = message.Number() != 0;
    if (number == Field::kBuild) build = true;
  }
  if (!message.ok() || build == request.cancel) return NotOfMany();
  return request;
}

Result<ConvertedRequest> ReadOfMany(ProtoReader& message, const ServiceLimits& limits,
                                    const FindUpload& find_upload) {
  return ReadNestedBuild(message, fields::BuildManyRequest::kBuild, limits, find_upload);
}

Result<ConvertedRequest> ReadOfWithFiles(ProtoReader& message, const ServiceLimits& limits,
                                         const FindUpload& find_upload) {
  return ReadNestedBuild(message, fields::BuildWithFilesRequest::kBuild, limits, find_upload);
}

grpc::ByteBuffer EncodeTaggedError(uint64_t tag, const Error& error) {
  v1::BuildManyReply reply;
  reply.set_tag(tag);
  auto& message = *reply.mutable_error();
  message.set_name(std::string(Name(error.code)));
  message.set_message(TextOf(error));
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

Status ReadFileAnswers(const grpc::ByteBuffer& bytes, FileExchange& exchange) {
  using Field = fields::BuildWithFilesRequest;
  if (bytes.Length() > kMaxContents + kMaxHeads) {
    return NotAnswers(
        fmt::format("{} bytes, and at most {} may be contents", bytes.Length(), kMaxContents));
  }
  const BufferPieces pieces(bytes);
  ProtoReader message(pieces.views());
  int others = 0;
  while (const uint32_t number = message.Next()) {
    Status taken = Ok{};
    if (number == Field::kBuild) {
      return NotAnswers("another build");
    } else if (number == Field::kAnswers) {
      taken = ReadAnswer(message, exchange);
    } else if (number == Field::kMore) {
      const std::string contents = message.Bytes();
      if (message.ok()) taken = exchange.Append(contents);
    } else if (++others > kMaxOthers) {
      return NotAnswers("it is damaged");
    }
    if (!taken) return taken;
  }
  return message.ok() ? Status(Ok{}) : Status(NotAnswers("it is damaged"));
}

}  // namespace cccl_cache::daemon
