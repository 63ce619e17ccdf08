// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/explain_request.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "daemon/service/wire/messages.h"
#include "proto/field_numbers.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

Error NotAQuestion() {
  return Error{ErrorCode::kInvalidRequest,
               "the message is not a cccl_cache.v1.ExplainRequest with either a key or a build"};
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
  std::string key;
  std::optional<Result<ConvertedRequest>> build;
  {
    const BufferPieces pieces(bytes);
    ProtoReader message(pieces.views());
    while (const uint32_t number = message.Next()) {
      if (number == fields::ExplainRequest::kKey) key = message.Text();
      if (number != fields::ExplainRequest::kBuild) continue;
      if (build) return NotAQuestion();
      ProtoReader nested = message.Message();
      build = ReadBuild(nested, limits, find_upload);
    }
    if (!message.ok() || key.empty() != build.has_value()) return NotAQuestion();
  }
  bytes.Clear();
  ExplainQuestion question;
  if (!build) {
    question.key = DigestPrefix::FromHex(key);
    if (question.key) return question;
    return Error{ErrorCode::kInvalidRequest, "key: give 8 to 64 hexadecimal digits"};
  }
  if (!*build) return build->error();
  question.build = **std::move(build);
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
  for (const TierLook& look : explanation.tiers) {
    v1::TierLook& to = *reply.add_tiers();
    to.set_tier(static_cast<v1::Tier>(look.tier));
    to.set_finding(static_cast<v1::TierFinding>(look.finding));
    to.set_reason(ToUtf8(look.reason));
  }
  return reply;
}

}  // namespace cccl_cache::daemon
