// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/acquire_messages.h"

#include <fmt/format.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "base/wire.h"
#include "cccl_cache/v1/deposit.pb.h"
#include "daemon/service/wire/messages.h"
#include "proto/field_numbers.h"

namespace cccl_cache::daemon {
namespace {

namespace v1 = cccl_cache::v1;

/// Maximum bytes of a message in addition to its contents.
constexpr uint64_t kHeadBytes = 256;
constexpr size_t kMaxNamespace = 128;
constexpr size_t kMaxFields = 256;
constexpr size_t kMaxFieldName = 256;
/// Maximum number of fields in one message. Unknown fields count too.
constexpr size_t kMaxMembers = kMaxFields + 16;

Error Refuse(std::string what) { return Error{ErrorCode::kInvalidRequest, std::move(what)}; }

Error NotAnAcquire() {
  return Refuse(
      "the message is not a cccl_cache.v1.AcquireRequest: it is damaged, compressed, or a name in "
      "it is not UTF-8");
}

/// Returns whether the message is well formed and has at most kMaxMembers fields. Each message in a
/// field with the number `inner` must be so, too. Must be called before parsing, which makes an
/// object of 80 bytes from each empty message of 2 bytes.
bool HasFewMembers(ProtoReader message, uint32_t inner) {
  size_t members = 0;
  while (const uint32_t number = message.Next()) {
    if (++members > kMaxMembers) return false;
    if (number == inner && !HasFewMembers(message.Message(), 0)) return false;
  }
  return message.ok();
}

}  // namespace

Result<DepositAsk> AskOf(v1::DepositKey&& message) {
  DepositAsk ask;
  ask.name_space = std::move(*message.mutable_namespace_());
  if (ask.name_space.empty() || ask.name_space.size() > kMaxNamespace) {
    return Refuse(fmt::format("namespace: {} bytes, 1 to {} are allowed", ask.name_space.size(),
                              kMaxNamespace));
  }
  const auto count = static_cast<size_t>(message.fields_size());
  if (count > kMaxFields) {
    return Refuse(fmt::format("fields: {} entries, at most {} are allowed", count, kMaxFields));
  }
  std::set<std::string_view> names;
  for (v1::DepositField& field : *message.mutable_fields()) {
    const size_t length = field.name().size();
    if (length == 0 || length > kMaxFieldName) {
      return Refuse(
          fmt::format("fields.name: {} bytes, 1 to {} are allowed", length, kMaxFieldName));
    }
    if (!names.insert(field.name()).second) {
      return Refuse("fields: two have the same name");
    }
  }
  for (v1::DepositField& field : *message.mutable_fields()) {
    ask.fields.push_back({field.name(), std::move(*field.mutable_value())});
  }
  if (message.has_group()) ask.gid = message.group().gid();
  ask.wait = std::chrono::milliseconds(message.wait_ms());
  ask.accepts_release = message.accepts_release();
  ask.released_at_limit = message.accepts_release() && message.released_at_limit();
  ask.waits_only = message.accepts_release() && message.waits_only();
  ask.replaces = message.replaces() && !ask.waits_only;
  return ask;
}

Result<AcquireMessage> DecodeAcquire(grpc::ByteBuffer& bytes) {
  if (bytes.Length() > kAcquireChunkBytes + kHeadBytes) {
    return Refuse(fmt::format(
        "a message of {} bytes: at most {} are allowed here, send contents in pieces and hash "
        "fields that are larger",
        bytes.Length(), kAcquireChunkBytes));
  }
  {
    const BufferPieces pieces(bytes);
    const ProtoReader unparsed(pieces.views());
    if (!HasFewMembers(unparsed, fields::AcquireRequest::kKey)) return NotAnAcquire();
  }
  grpc::ProtoBufferReader reader(&bytes);
  v1::AcquireRequest message;
  if (!message.ParseFromZeroCopyStream(&reader)) return NotAnAcquire();
  const int set = static_cast<int>(message.has_key()) + static_cast<int>(message.has_heartbeat()) +
                  static_cast<int>(!message.contents().empty()) +
                  static_cast<int>(message.has_publication()) +
                  static_cast<int>(message.has_abandonment());
  if (set != 1) return Refuse("exactly one member of an AcquireRequest must be set");
  if (message.has_key()) {
    auto ask = AskOf(std::move(*message.mutable_key()));
    if (!ask) return ask.error();
    return AcquireMessage(*std::move(ask));
  }
  if (message.has_heartbeat()) return AcquireMessage(LeaseHeartbeat{});
  if (message.has_publication()) {
    return AcquireMessage(
        LeasePublication{message.publication().fence(), message.publication().size()});
  }
  if (message.has_abandonment()) {
    return AcquireMessage(LeaseAbandonment{message.abandonment().failed()});
  }
  return AcquireMessage(LeaseContents{std::move(*message.mutable_contents())});
}

grpc::ByteBuffer EncodeLease(uint64_t fence, std::chrono::milliseconds heartbeat,
                             const Digest& key) {
  v1::AcquireReply reply;
  reply.mutable_lease()->set_fence(fence);
  reply.mutable_lease()->set_heartbeat_ms(static_cast<uint32_t>(heartbeat.count()));
  reply.mutable_lease()->set_key(key.Hex());
  return Encode(reply);
}

grpc::ByteBuffer EncodeFound(uint64_t size, const Digest& key) {
  v1::AcquireReply reply;
  reply.mutable_found()->set_size(size);
  reply.mutable_found()->set_key(key.Hex());
  return Encode(reply);
}

grpc::ByteBuffer EncodeContents(const DepositContents& contents, std::string_view bytes) {
  const ProtoWriter head = ProtoWriter().Head(fields::AcquireReply::kContents, bytes.size());
  const grpc::Slice slices[] = {
      grpc::Slice(head.bytes()),
      grpc::Slice(
          const_cast<char*>(bytes.data()), bytes.size(),
          [](void* owner) { delete static_cast<DepositContents*>(owner); },
          new DepositContents(contents))};
  return {slices, std::size(slices)};
}

grpc::ByteBuffer EncodePublished() {
  v1::AcquireReply reply;
  reply.mutable_published();
  return Encode(reply);
}

grpc::ByteBuffer EncodeReleased(const Digest& key) {
  v1::AcquireReply reply;
  reply.mutable_released()->set_key(key.Hex());
  return Encode(reply);
}

}  // namespace cccl_cache::daemon
