// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/wire_reader.h"

#include <cccl_cache/v1/build.pb.h>

#include <catch2/catch.hpp>

using cccl_cache::AppendVarint;
using cccl_cache::WireField;
using cccl_cache::WireReader;

namespace {

bool IsMalformed(std::string_view message) {
  WireReader reader(message);
  WireField field;
  while (reader.Next(&field)) {
  }
  return reader.malformed();
}

}  // namespace

TEST_CASE("fields are found as protobuf writes them") {
  cccl_cache::v1::Artifact artifact;
  artifact.set_kind(cccl_cache::v1::ARTIFACT_KIND_CUBIN);
  artifact.set_size(uint64_t{1} << 40);
  artifact.set_contents("bytes");
  const std::string message = artifact.SerializeAsString();
  WireReader reader(message);
  WireField field;
  REQUIRE(reader.Next(&field));
  CHECK(field.number == 1);
  CHECK(field.value == 2);
  REQUIRE(reader.Next(&field));
  CHECK(field.number == 2);
  CHECK(field.value == uint64_t{1} << 40);
  REQUIRE(reader.Next(&field));
  CHECK(field.number == 15);
  CHECK(field.is_bytes);
  CHECK(field.bytes == "bytes");
  CHECK(field.bytes.data() == message.data() + message.size() - 5);
  CHECK_FALSE(reader.Next(&field));
  CHECK_FALSE(reader.malformed());
}

TEST_CASE("fixed-size fields are skipped") {
  const std::string message =
      std::string("\x09") + std::string(8, 'x') + "\x15" + "yyyy" + "\x18\x07";
  WireReader reader(message);
  WireField field;
  REQUIRE(reader.Next(&field));
  REQUIRE(reader.Next(&field));
  REQUIRE(reader.Next(&field));
  CHECK(field.number == 3);
  CHECK(field.value == 7);
}

TEST_CASE("nothing is read beyond the end of a message") {
  CHECK(
      IsMalformed("\x0a\x05"
                  "abc"));                                             // shorter than its length
  CHECK(IsMalformed("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));  // length beyond everything
  CHECK(IsMalformed("\x80"));                                          // tag cut off
  CHECK(IsMalformed("\x08\x80\x80"));                                  // varint cut off
  CHECK(IsMalformed(std::string("\x08") + std::string(11, '\x80')));   // varint too long
  CHECK(IsMalformed("\x09xxxx"));                                      // fixed64 cut off
  CHECK(IsMalformed("\x0b"));                                          // group
  CHECK(IsMalformed(std::string(1, '\0')));                            // field number 0
}

TEST_CASE("varints are written as they are read") {
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{300}, ~uint64_t{0}}) {
    std::string message = "\x08";
    AppendVarint(value, &message);
    WireReader reader(message);
    WireField field;
    REQUIRE(reader.Next(&field));
    CHECK(field.value == value);
  }
}
