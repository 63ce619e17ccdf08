// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/acquire_reply.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/slice.h>

#include <iterator>

#include "cccl_cache/v1/deposit.pb.h"
#include "daemon/service/wire/small_message.h"

namespace cccl_cache::daemon {

namespace v1 = cccl_cache::v1;

grpc::ByteBuffer EncodeLease(uint64_t fence, std::chrono::milliseconds heartbeat,
                             const cccl_cache::Digest& key) {
  v1::AcquireReply reply;
  reply.mutable_lease()->set_fence(fence);
  reply.mutable_lease()->set_heartbeat_ms(static_cast<uint32_t>(heartbeat.count()));
  reply.mutable_lease()->set_key(key.Hex());
  return Encode(reply);
}

grpc::ByteBuffer EncodeFound(uint64_t size, const cccl_cache::Digest& key) {
  v1::AcquireReply reply;
  reply.mutable_found()->set_size(size);
  reply.mutable_found()->set_key(key.Hex());
  return Encode(reply);
}

grpc::ByteBuffer EncodeContents(const DepositContents& contents, std::string_view bytes) {
  using google::protobuf::internal::WireFormatLite;
  using google::protobuf::io::CodedOutputStream;
  uint8_t head[16];
  uint8_t* end = CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(v1::AcquireReply::kContentsFieldNumber,
                              WireFormatLite::WIRETYPE_LENGTH_DELIMITED),
      head);
  end = CodedOutputStream::WriteVarint64ToArray(bytes.size(), end);
  const grpc::Slice slices[] = {
      grpc::Slice(head, static_cast<size_t>(end - head)),
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

}  // namespace cccl_cache::daemon
