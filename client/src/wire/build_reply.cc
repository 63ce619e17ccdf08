// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/build_reply.h"

#include <string>
#include <utility>

#include "base/wire.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

Error Malformed() {
  return {CCCL_CACHE_PROTOCOL, "the daemon's answer to a build can't be understood"};
}

// An artifact without its contents; the contents, in place.
ProtoWriter SplitArtifact(ProtoReader artifact, std::string_view* contents) {
  ProtoWriter small;
  while (const uint32_t number = artifact.Next()) {
    if (number == fields::Artifact::kContents) {
      *contents = artifact.View();
    } else {
      small.Fields(artifact.Whole());
    }
  }
  return small;
}

// A lowered name whose texts are as the compiler has them. protobuf-c takes any bytes for a text,
// and the later of two fields.
ProtoWriter WithBytes(ProtoReader name) {
  using Field = fields::LoweredName;
  ProtoWriter whole;
  while (const uint32_t number = name.Next()) {
    if (number == Field::kExpressionBytes) {
      whole.Bytes(Field::kExpression, name.View());
    } else if (number == Field::kLoweredBytes) {
      whole.Bytes(Field::kLowered, name.View());
    } else {
      whole.Fields(name.Whole());
    }
  }
  return whole;
}

// The reply without the contents of its artifacts, so that unpacking copies only what is small, and
// with all texts as the compiler has them.
bool Split(std::string_view reply, ProtoWriter* small, std::vector<std::string_view>* contents) {
  ProtoReader reader(reply);
  while (const uint32_t number = reader.Next()) {
    if (number == fields::BuildReply::kArtifacts) {
      contents->emplace_back();
      small->Message(number, SplitArtifact(reader.Message(), &contents->back()).bytes());
    } else if (number == fields::BuildReply::kLoweredNames) {
      small->Message(number, WithBytes(reader.Message()).bytes());
    } else if (number == fields::BuildReply::kLogBytes) {
      small->Bytes(fields::BuildReply::kLog, reader.View());
    } else {
      small->Fields(reader.Whole());
    }
  }
  return reader.ok();
}

std::string_view View(const ProtobufCBinaryData& data) {
  return {reinterpret_cast<const char*>(data.data), data.len};
}

}  // namespace

void BuildReply::Deleter::operator()(CcclCache__V1__BuildReply* fields) const {
  cccl_cache__v1__build_reply__free_unpacked(fields, nullptr);
}

Expected<BuildReply> BuildReply::Decode(Message message) {
  Expected<BuildReply> reply = DecodeFields(std::move(message));
  if (!reply.ok()) return reply;
  for (size_t i = 0; i < reply->artifact_count(); ++i) {
    const CcclCache__V1__Artifact& artifact = *reply->fields_->artifacts[i];
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
    reply->fields_->artifacts[i]->in_chunks = 0;
    if (reply->fields_->artifacts[i]->size != contents[i].size) return Malformed();
  }
  reply->memory_ = std::move(contents);
  return reply;
}

Expected<BuildReply> BuildReply::DecodeFields(Message message) {
  BuildReply reply;
  ProtoWriter small;
  if (!Split(message.View(), &small, &reply.contents_)) return Malformed();
  reply.fields_.reset(cccl_cache__v1__build_reply__unpack(
      nullptr, small.bytes().size(), reinterpret_cast<const uint8_t*>(small.bytes().data())));
  if (reply.fields_ == nullptr || reply.fields_->n_artifacts != reply.contents_.size()) {
    return Malformed();
  }
  reply.memory_.push_back(std::move(message));
  return reply;
}

bool BuildReply::needs_chunks() const {
  for (size_t i = 0; i < artifact_count(); ++i) {
    if (fields_->artifacts[i]->in_chunks) return true;
  }
  return false;
}

size_t BuildReply::MemoryBytes() const {
  size_t bytes = 0;
  for (const Message& message : memory_) bytes += CapacityOf(message.bytes);
  return bytes;
}

bool BuildReply::SameArtifacts(const BuildReply& other) const {
  if (artifact_count() != other.artifact_count()) return false;
  for (size_t i = 0; i < artifact_count(); ++i) {
    const CcclCache__V1__Artifact& ours = *fields_->artifacts[i];
    const CcclCache__V1__Artifact& theirs = *other.fields_->artifacts[i];
    if (WireNumber(ours.kind) != WireNumber(theirs.kind)) return false;
    if (View(ours.sha256) != View(theirs.sha256)) return false;
  }
  return true;
}

void BuildReply::TakeContents(BuildReply other) {
  memory_ = std::move(other.memory_);
  contents_ = std::move(other.contents_);
}

}  // namespace cccl_cache
