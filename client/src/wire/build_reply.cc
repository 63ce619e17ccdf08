// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/build_reply.h"

#include <algorithm>
#include <utility>

#include "base/wire.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

Error Malformed() {
  return {CCCL_CACHE_PROTOCOL, "the daemon's answer to a build can't be understood"};
}

BuildReply::Artifact ReadArtifact(ProtoReader reader, std::string_view* contents) {
  using Field = fields::Artifact;
  BuildReply::Artifact artifact;
  while (const uint32_t number = reader.Next()) {
    if (number == Field::kKind) artifact.kind = static_cast<int>(reader.Number());
    if (number == Field::kSize) artifact.size = reader.Number();
    if (number == Field::kSha256) artifact.sha256 = reader.View();
    if (number == Field::kInChunks) artifact.in_chunks = reader.Number() != 0;
    if (number == Field::kContents) *contents = reader.View();
  }
  return artifact;
}

// A name that is not UTF-8 is sent twice: as a string with '?' for each invalid byte, and after it
// as bytes, which are unchanged and replace the string here.
BuildReply::LoweredName ReadLoweredName(ProtoReader reader) {
  using Field = fields::LoweredName;
  BuildReply::LoweredName name;
  while (const uint32_t number = reader.Next()) {
    if (number == Field::kExpression || number == Field::kExpressionBytes) {
      name.expression = reader.View();
    }
    if (number == Field::kLowered || number == Field::kLoweredBytes) name.lowered = reader.View();
  }
  return name;
}

void ReadToolchain(ProtoReader reader, BuildReply::Fields* reply) {
  while (const uint32_t number = reader.Next()) {
    if (number == fields::ToolchainName::kId) reply->toolchain_id = reader.View();
    if (number == fields::ToolchainName::kVersion) reply->toolchain_version = reader.View();
  }
}

void ReadTiming(ProtoReader reader, BuildReply::Fields* reply) {
  while (const uint32_t number = reader.Next()) {
    if (number == fields::Timing::kQueueUs) reply->queue_us = reader.Number();
    if (number == fields::Timing::kCompileUs) reply->compile_us = reader.Number();
    if (number == fields::Timing::kSavedUs) reply->saved_us = reader.Number();
  }
}

void ReadField(uint32_t number, ProtoReader* reader, BuildReply::Fields* reply) {
  using Field = fields::BuildReply;
  if (number == Field::kOutcome) reply->outcome = static_cast<int>(reader->Number());
  if (number == Field::kTier) reply->tier = static_cast<int>(reader->Number());
  if (number == Field::kKey) reply->key = reader->View();
  if (number == Field::kFingerprint) reply->fingerprint = reader->View();
  if (number == Field::kToolchain) ReadToolchain(reader->Message(), reply);
  if (number == Field::kLoweredNames) {
    reply->lowered_names.push_back(ReadLoweredName(reader->Message()));
  }
  if (number == Field::kLog || number == Field::kLogBytes) reply->log = reader->View();
  if (number == Field::kNativeCode) reply->native_code = static_cast<int32_t>(reader->Number());
  if (number == Field::kReason) reply->reason = reader->View();
  if (number == Field::kRemembered) reply->remembered = reader->Number() != 0;
  if (number == Field::kPrecompiledHeaders) reply->precompiled_headers = reader->Number() != 0;
  if (number == Field::kTiming) ReadTiming(reader->Message(), reply);
  if (number == Field::kClosed) reply->closed = reader->Number() != 0;
  if (number == Field::kRequestId) reply->request_id = reader->Number();
}

}  // namespace

Expected<BuildReply> BuildReply::Decode(Message message) {
  Expected<BuildReply> reply = DecodeFields(std::move(message));
  if (!reply.ok()) return reply;
  for (size_t i = 0; i < reply->artifact_count(); ++i) {
    const Artifact& artifact = reply->fields_.artifacts[i];
    if (!artifact.in_chunks && artifact.size != reply->contents_[i].size()) return Malformed();
  }
  return reply;
}

Expected<BuildReply> BuildReply::DecodeWithContents(Message message,
                                                    std::vector<Message> contents) {
  Expected<BuildReply> reply = DecodeFields(std::move(message));
  if (!reply.ok()) return reply;
  if (contents.size() != reply->artifact_count()) return Malformed();
  for (size_t i = 0; i < contents.size(); ++i) {
    reply->contents_[i] = contents[i].View();
    Artifact& artifact = reply->fields_.artifacts[i];
    artifact.in_chunks = false;
    if (artifact.size != contents[i].size) return Malformed();
    reply->memory_.push_back(std::move(contents[i]));
  }
  return reply;
}

Expected<BuildReply> BuildReply::DecodeFields(Message message) {
  BuildReply reply;
  ProtoReader reader(message.View());
  while (const uint32_t number = reader.Next()) {
    if (number == fields::BuildReply::kArtifacts) {
      std::string_view& contents = reply.contents_.emplace_back();
      reply.fields_.artifacts.push_back(ReadArtifact(reader.Message(), &contents));
    } else {
      ReadField(number, &reader, &reply.fields_);
    }
  }
  if (!reader.ok()) return Malformed();
  reply.memory_.push_back(std::move(message));
  return reply;
}

bool BuildReply::needs_chunks() const {
  return std::ranges::any_of(fields_.artifacts, &Artifact::in_chunks);
}

size_t BuildReply::MemoryBytes() const {
  size_t bytes = 0;
  for (const Message& message : memory_) bytes += CapacityOf(message.bytes);
  return bytes;
}

bool BuildReply::SameArtifacts(const BuildReply& other) const {
  return std::ranges::equal(fields_.artifacts, other.fields_.artifacts,
                            [](const Artifact& one, const Artifact& another) {
                              return one.kind == another.kind && one.sha256 == another.sha256;
                            });
}

void BuildReply::TakeContents(BuildReply other) {
  for (Message& message : other.memory_) memory_.push_back(std::move(message));
  contents_ = std::move(other.contents_);
}

}  // namespace cccl_cache
