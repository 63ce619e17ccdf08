// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/build_reply.h"

#include <string_view>

#include "base/text.h"
#include "base/wire.h"
#include "proto/field_numbers.h"

namespace cccl_cache::daemon {
namespace {

/// Maximum bytes of a log in a reply. People do not read longer logs.
constexpr size_t kMaxLog = 4u << 20;

/// Returns the digest in hexadecimal, or an empty text if it is all zeros. A failed build, for
/// example, has no key.
std::string HexOrNothing(const Digest& digest) {
  return digest == Digest{} ? std::string() : digest.Hex();
}

ProtoWriter EncodeToolchain(const BuildAnswer& answer) {
  using Field = fields::ToolchainName;
  return ProtoWriter()
      .Bytes(Field::kId, HexOrNothing(answer.toolchain_id))
      .Bytes(Field::kVersion, answer.toolchain_version);
}

/// Writes a text into `field`, which is of type string. If the text is not UTF-8, it is converted,
/// and its original bytes are written into `bytes_field`.
void AddText(ProtoWriter& message, std::string_view text, uint32_t field, uint32_t bytes_field) {
  if (IsUtf8(text)) {
    message.Bytes(field, text);
  } else {
    message.Bytes(field, ToUtf8(text)).Bytes(bytes_field, text);
  }
}

ProtoWriter EncodeLoweredName(std::string_view expression, std::string_view lowered) {
  using Field = fields::LoweredName;
  ProtoWriter name;
  AddText(name, expression, Field::kExpression, Field::kExpressionBytes);
  AddText(name, lowered, Field::kLowered, Field::kLoweredBytes);
  return name;
}

/// Returns the part of the log that is sent. If it is not UTF-8, it is cut at half of the limit,
/// because AddText then writes it twice.
std::string_view SentLog(std::string_view log) {
  const std::string_view most = CutAtCharacter(log, kMaxLog);
  return IsUtf8(most) ? most : CutAtCharacter(log, kMaxLog / 2);
}

ProtoWriter EncodeTiming(const BuildAnswer& answer) {
  using Field = fields::Timing;
  return ProtoWriter()
      .Number(Field::kQueueUs, static_cast<uint64_t>(answer.queue_time.count()))
      .Number(Field::kCompileUs, static_cast<uint64_t>(answer.compile_time.count()))
      .Number(Field::kSavedUs, static_cast<uint64_t>(answer.saved_time.count()));
}

}  // namespace

std::string EncodeReplyHead(const BuildAnswer& answer) {
  using Field = fields::BuildReply;
  ProtoWriter reply;
  reply.Number(Field::kOutcome, static_cast<uint64_t>(answer.outcome));
  reply.Number(Field::kTier, static_cast<uint64_t>(answer.tier));
  reply.Bytes(Field::kKey, HexOrNothing(answer.key));
  reply.Bytes(Field::kFingerprint, HexOrNothing(answer.fingerprint));
  reply.Message(Field::kToolchain, EncodeToolchain(answer).bytes());
  if (answer.artifact != nullptr) {
    for (const auto& [expression, lowered] : answer.artifact->lowered_names) {
      reply.Message(Field::kLoweredNames, EncodeLoweredName(expression, lowered).bytes());
    }
  }
  AddText(reply, SentLog(answer.log), Field::kLog, Field::kLogBytes);
  reply.Number(Field::kNativeCode, static_cast<uint64_t>(answer.native_code));
  reply.Bytes(Field::kReason, ToUtf8(answer.reason));
  reply.Number(Field::kRemembered, answer.remembered ? 1 : 0);
  reply.Number(Field::kPrecompiledHeaders, answer.precompiled_headers ? 1 : 0);
  reply.Message(Field::kTiming, EncodeTiming(answer).bytes());
  reply.Number(Field::kClosed, answer.closed ? 1 : 0);
  reply.Number(Field::kRequestId, answer.request_id);
  return reply.Take();
}

std::string EncodeArtifactHead(const ArtifactPart& part, ArtifactBytes bytes) {
  using Field = fields::Artifact;
  ProtoWriter artifact;
  artifact.Number(Field::kKind, static_cast<uint64_t>(part.kind));
  artifact.Number(Field::kSize, part.bytes.size());
  artifact.Bytes(Field::kSha256, part.sha256.View());
  uint64_t follow = 0;
  if (bytes == ArtifactBytes::kInChunks) {
    artifact.Number(Field::kInChunks, 1);
  } else if (!part.bytes.empty()) {
    artifact.Head(Field::kContents, part.bytes.size());
    follow = part.bytes.size();
  }
  return ProtoWriter()
      .Head(fields::BuildReply::kArtifacts, artifact.bytes().size() + follow)
      .Fields(artifact.bytes())
      .Take();
}

}  // namespace cccl_cache::daemon
