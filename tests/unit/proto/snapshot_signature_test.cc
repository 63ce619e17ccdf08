// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/snapshot/snapshot_signature.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>

namespace cccl_cache::snapshot_signature_test {
namespace {

using Catch::Matchers::Contains;

const SigningKey kKey{SigningKey::Seed{1}};

bool TrustsAll(const PublicKey& /*key*/) { return true; }

SnapshotSignature Example() {
  return {.signer = kKey.public_key(),
          .time = std::chrono::sys_seconds(std::chrono::seconds(1'800'000'000)),
          .file_bytes = 1'234,
          .index_sha256 = Sha256("index"),
          .fingerprints = {Sha256("one"), Sha256("two")}};
}

std::string WhyNot(std::string_view bytes,
                   const std::function<bool(const PublicKey&)>& trusted = TrustsAll) {
  const auto decoded = DecodeSnapshotSignature(bytes, trusted);
  const auto* const why = std::get_if<std::string>(&decoded);
  return why == nullptr ? "" : *why;
}

TEST_CASE("signed bytes are verified and returned") {
  const auto decoded = DecodeSnapshotSignature(EncodeSnapshotSignature(Example(), kKey), TrustsAll);
  REQUIRE(std::holds_alternative<SnapshotSignature>(decoded));
  CHECK(std::get<SnapshotSignature>(decoded) == Example());
}

TEST_CASE("a snapshot without records can be signed") {
  SnapshotSignature empty = Example();
  empty.fingerprints.clear();
  CHECK(WhyNot(EncodeSnapshotSignature(empty, kKey)).empty());
}

TEST_CASE("an untrusted signature is refused, and the error names the key") {
  const std::string bytes = EncodeSnapshotSignature(Example(), kKey);
  CHECK_THAT(WhyNot(bytes, [](const PublicKey&) { return false; }),
             Contains("not trusted: " + kKey.public_key().Hex()));
}

TEST_CASE("a signature with an altered byte is refused") {
  const std::string bytes = EncodeSnapshotSignature(Example(), kKey);
  for (size_t place = 0; place < bytes.size(); ++place) {
    std::string altered = bytes;
    altered[place] = static_cast<char>(altered[place] ^ 1);
    INFO(place);
    CHECK_FALSE(WhyNot(altered).empty());
  }
}

TEST_CASE("a signature that is cut off, or has excess bytes, is refused") {
  const std::string bytes = EncodeSnapshotSignature(Example(), kKey);
  for (size_t size = 0; size < bytes.size(); ++size) {
    INFO(size);
    CHECK_FALSE(WhyNot(bytes.substr(0, size)).empty());
  }
  CHECK_FALSE(WhyNot(bytes + "x").empty());
}

}  // namespace
}  // namespace cccl_cache::snapshot_signature_test
