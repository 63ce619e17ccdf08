// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cccl_cache/v1/build.pb.h>
#include <cccl_cache/v1/snapshot.pb.h>

#include <catch2/catch.hpp>

#include "client/src/wire/messages.h"
#include "tests/unit/client/wire_bytes.h"

namespace message_body_test {

namespace v1 = cccl_cache::v1;
using cccl_cache::ByteChain;

namespace {

/// Returns the addresses of a chain's pieces.
std::vector<const void*> Places(const ByteChain& chain) {
  std::array<iovec, 16> pieces;
  std::vector<const void*> places;
  const size_t count = chain.Describe({}, pieces);
  for (size_t i = 0; i < count; ++i) places.push_back(pieces[i].iov_base);
  return places;
}

}  // namespace

TEST_CASE("a message begins with gRPC's five bytes: not compressed, and its length") {
  v1::Blob blob;
  blob.set_inline_bytes(std::string(300, 'x'));
  ByteChain body;
  cccl_cache::AppendMessage(blob.SerializeAsString(), &body);
  CHECK(Joined(body).substr(0, 5) == std::string("\0\0\0\x01\x2f", 5));
  CHECK(Sent<v1::Blob>(body).inline_bytes() == blob.inline_bytes());
}

TEST_CASE("large pieces are referenced in place, small pieces are copied") {
  const std::string large(5'000, 'x');
  ByteChain body;
  cccl_cache::AppendPiece(large, &body);
  CHECK(Places(body) == std::vector<const void*>{large.data()});
  const std::string small = "small";
  ByteChain copied;
  cccl_cache::AppendPiece(small, &copied);
  CHECK(Places(copied).front() != small.data());
}

TEST_CASE("a message of one bytes field refers to the caller's bytes; other fields may follow") {
  const std::string bytes(70'000, 'y');
  ByteChain body;
  cccl_cache::AppendBytesMessage(1, bytes, &body);
  CHECK(Sent<v1::UploadChunk>(body).data() == bytes);
  CHECK(Places(body).back() == bytes.data());
  ByteChain last;
  cccl_cache::AppendBytesMessage(1, bytes, &last, "\x10\x01");
  CHECK(Sent<v1::SnapshotInsertRequest>(last).data() == bytes);
  CHECK(Sent<v1::SnapshotInsertRequest>(last).last());
  ByteChain nothing;
  cccl_cache::AppendBytesMessage(1, "", &nothing);
  CHECK(Sent<v1::UploadChunk>(nothing).data().empty());
}

TEST_CASE("a message without fields is only gRPC's five bytes, and messages follow each other") {
  ByteChain body;
  cccl_cache::AppendMessage({}, &body);
  cccl_cache::AppendMessage({}, &body);
  CHECK(Joined(body) == std::string(10, '\0'));
}

}  // namespace message_body_test
