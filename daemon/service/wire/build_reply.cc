// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/build_reply.h"

#include <string_view>

#include "base/text.h"
#include "daemon/service/wire/wire_output.h"

namespace cccl_cache::daemon {
namespace {

/// Maximum bytes of a log in a reply. A person reads less.
constexpr size_t kMaxLog = 4u << 20;

/// Returns the digest as text, or nothing if there is none: a failure, for example, has no key.
std::string HexOrNothing(const Digest& digest) {
  return digest == Digest{} ? std::string() : digest.Hex();
}

std::string EncodeToolchain(const BuildAnswer& answer) {
  std::string message;
  AppendBytes(1, HexOrNothing(answer.toolchain_id), message);
  AppendBytes(2, answer.toolchain_version, message);
  return message;
}

std::string EncodeLoweredName(std::string_view expression, std::string_view lowered) {
  std::string message;
  AppendBytes(1, ToUtf8(expression), message);
  AppendBytes(2, ToUtf8(lowered), message);
  return message;
}

std::string EncodeTiming(const BuildAnswer& answer) {
  std::string message;
  AppendNumber(1, static_cast<uint64_t>(answer.queue_time.count()), message);
  AppendNumber(2, static_cast<uint64_t>(answer.compile_time.count()), message);
  return message;
}

}  // namespace

std::string EncodeReplyHead(const BuildAnswer& answer) {
  std::string reply;
  AppendNumber(1, static_cast<uint64_t>(answer.outcome), reply);
  AppendNumber(2, static_cast<uint64_t>(answer.tier), reply);
  AppendBytes(3, HexOrNothing(answer.key), reply);
  AppendBytes(4, HexOrNothing(answer.fingerprint), reply);
  AppendMessage(5, EncodeToolchain(answer), reply);
  if (answer.artifact != nullptr) {
    for (const auto& [expression, lowered] : answer.artifact->lowered_names) {
      AppendMessage(6, EncodeLoweredName(expression, lowered), reply);
    }
  }
  AppendBytes(7, ToUtf8(std::string_view(answer.log).substr(0, kMaxLog)), reply);
  AppendNumber(8, static_cast<uint64_t>(answer.native_code), reply);
  AppendBytes(9, ToUtf8(answer.reason), reply);
  AppendNumber(10, answer.remembered ? 1 : 0, reply);
  AppendNumber(11, answer.precompiled_headers ? 1 : 0, reply);
  AppendMessage(12, EncodeTiming(answer), reply);
  AppendNumber(13, answer.closed ? 1 : 0, reply);
  return reply;
}

std::string EncodeArtifactHead(const ArtifactPart& part, ArtifactBytes bytes) {
  std::string artifact;
  AppendNumber(1, static_cast<uint64_t>(part.kind), artifact);
  AppendNumber(2, part.bytes.size(), artifact);
  AppendBytes(3, part.sha256.View(), artifact);
  uint64_t length = artifact.size();
  if (bytes == ArtifactBytes::kInChunks) {
    AppendNumber(4, 1, artifact);
    length = artifact.size();
  } else if (!part.bytes.empty()) {
    AppendHead(15, part.bytes.size(), artifact);
    length = artifact.size() + part.bytes.size();
  }
  std::string head;
  AppendHead(15, length, head);
  return head + artifact;
}

}  // namespace cccl_cache::daemon
