// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/explain_request.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>
#include <utility>

#include "daemon/service/field_count.h"
#include "daemon/service/utf8.h"

namespace cccl_cached {
namespace {

namespace io = google::protobuf::io;
namespace v1 = cccl_cache::v1;
using google::protobuf::internal::WireFormatLite;

/// Fields of one question, unknown ones among them.
constexpr int kMostFields = 64;

Error NotAQuestion() {
  return Error{ErrorCode::kInvalidRequest,
               "the message is not a cccl_cache.v1.ExplainRequest with either a key or a build"};
}

/// The next field's number; 0 at the end, and then `length` says whether all was well formed. Of a
/// build the stream stands before its `length` bytes, any other field is skipped.
int NextField(io::ZeroCopyInputStream& stream, int* length) {
  io::CodedInputStream input(&stream);
  *length = 0;
  const uint32_t tag = input.ReadTag();
  if (tag == 0) {
    *length = input.ConsumedEntireMessage() ? 0 : -1;
    return 0;
  }
  const int number = WireFormatLite::GetTagFieldNumber(tag);
  const bool build =
      number == v1::ExplainRequest::kBuildFieldNumber &&
      WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  const bool well =
      build ? input.ReadVarintSizeAsInt(length) : WireFormatLite::SkipField(&input, tag);
  if (well) return build ? number : -1;
  *length = -1;
  return 0;
}

/// Two builds in one message would be merged into one beyond every bound.
Status CheckCounts(io::ZeroCopyInputStream& stream, const ServiceLimits& limits) {
  bool build = false;
  for (int fields = 0; fields < kMostFields; ++fields) {
    int length = 0;
    const int number = NextField(stream, &length);
    if (number == 0) return length == 0 ? Status(Ok{}) : Status(NotAQuestion());
    if (number != v1::ExplainRequest::kBuildFieldNumber) continue;
    if (std::exchange(build, true)) return NotAQuestion();
    io::LimitingInputStream inner(&stream, length);
    if (auto counted = CheckFieldCounts(inner, limits); !counted) return counted;
  }
  return NotAQuestion();
}

uint64_t Milliseconds(std::chrono::system_clock::time_point time) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

void Describe(const Difference& from, v1::Difference& to) {
  to.set_field(static_cast<v1::DifferenceField>(from.field));
  to.set_name(ToUtf8(from.name));
  to.set_was(ToUtf8(from.was));
  to.set_is(ToUtf8(from.is));
  to.set_was_lines(from.was_lines);
  to.set_is_lines(from.is_lines);
}

}  // namespace

Result<ExplainQuestion> ReadExplainRequest(grpc::ByteBuffer& bytes, const ServiceLimits& limits,
                                           const FindUpload& find_upload) {
  v1::ExplainRequest message;
  {
    grpc::ProtoBufferReader counted(&bytes);
    if (auto counts = CheckCounts(counted, limits); !counts) return counts.error();
    grpc::ProtoBufferReader parsed(&bytes);
    if (!message.ParseFromZeroCopyStream(&parsed)) return NotAQuestion();
  }
  bytes.Clear();
  if (message.key().empty() != message.has_build()) return NotAQuestion();
  ExplainQuestion question;
  if (!message.has_build()) {
    question.key = cccl_cache::Digest::FromHex(message.key());
    if (question.key) return question;
    return Error{ErrorCode::kInvalidRequest, "key: a key has 64 hexadecimal digits"};
  }
  auto build = FromProto(std::move(*message.mutable_build()), limits, find_upload);
  if (!build) return build.error();
  question.build = *std::move(build);
  return question;
}

v1::ExplainReply ToProto(const Explanation& explanation) {
  v1::ExplainReply reply;
  reply.set_verdict(static_cast<v1::Verdict>(explanation.verdict));
  reply.set_tier(static_cast<v1::Tier>(explanation.tier));
  reply.set_reason(ToUtf8(explanation.reason));
  if (explanation.since) reply.set_since_ms(Milliseconds(*explanation.since));
  if (explanation.nearest) {
    reply.mutable_nearest()->set_key(explanation.nearest->key.Hex());
    reply.mutable_nearest()->set_outcome(static_cast<v1::Outcome>(explanation.nearest->outcome));
    reply.mutable_nearest()->set_time_ms(Milliseconds(explanation.nearest->time));
  }
  for (const Difference& difference : explanation.differences) {
    Describe(difference, *reply.add_differences());
  }
  reply.set_more_differences(explanation.more_differences);
  return reply;
}

}  // namespace cccl_cached
