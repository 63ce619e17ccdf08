// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/records.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "base/codec.h"
#include "daemon/core/lookup/entry.h"
#include "daemon/core/lookup/manifest.h"

namespace cccl_cache::daemon::records_test {
namespace {

using cccl_cache::Sha256;

ArtifactRecord Record(std::chrono::microseconds time = {}) {
  auto artifact = std::make_shared<Artifact>();
  artifact->parts = {{cccl_cache::ArtifactKind::kCubin, "cubin", Sha256("cubin")}};
  artifact->log = "a warning";
  artifact->compile_time = time;
  return {Sha256("fingerprint"), {}, artifact};
}

ArtifactRecord OverHeader(const std::string& contents) {
  ArtifactRecord record = Record();
  record.closure.entries = {
      {.name = {1, "a.h"}, .kind = FileKind::kFile, .digest = Sha256(contents)}};
  return record;
}

TEST_CASE("a record decodes under its own key") {
  for (const ArtifactRecord& record : {Record(), OverHeader("text")}) {
    const std::string bytes = EncodeArtifactRecord(record);
    const auto back = DecodeArtifactRecord(record.key(), bytes);
    REQUIRE(back);
    CHECK(back->fingerprint == record.fingerprint);
    CHECK(back->closure == record.closure);
    CHECK(back->artifact->log == "a warning");
    CHECK(back->artifact->parts.front().bytes == "cubin");
    CHECK(EncodeArtifactRecord(*back) == bytes);
  }
}

std::chrono::microseconds TimeFrom(const std::string& bytes) {
  const auto back = DecodeArtifactRecord(Record().key(), bytes);
  REQUIRE(back);
  return back->artifact->compile_time;
}

TEST_CASE("a record has the compile time, which is cut to the maximum") {
  for (const std::chrono::microseconds time :
       {std::chrono::microseconds(0), std::chrono::microseconds(4'300'000),
        std::chrono::microseconds(kMaxCompileTimeOfRecord)}) {
    CHECK(TimeFrom(EncodeArtifactRecord(Record(time))) == time);
  }
  CHECK(TimeFrom(EncodeArtifactRecord(Record(std::chrono::hours(1000)))) ==
        kMaxCompileTimeOfRecord);
}

TEST_CASE("a record with an impossibly long compile is refused") {
  for (const auto time :
       {std::chrono::microseconds(kMaxCompileTimeOfRecord) + std::chrono::microseconds(1),
        std::chrono::microseconds::max()}) {
    const ArtifactRecord record = Record(time);
    const std::string entry = EncodeEntry(record.key(), *record.artifact);
    const std::string forged =
        ByteWriter().Bytes(record.fingerprint.View()).Text("").Text(entry).Joined();
    CHECK_FALSE(DecodeArtifactRecord(record.key(), forged));
  }
}

TEST_CASE("a record under a key of other inputs is refused") {
  const ArtifactRecord one = OverHeader("one");
  const ArtifactRecord other = OverHeader("other");
  CHECK_FALSE(DecodeArtifactRecord(other.key(), EncodeArtifactRecord(one)));
  // The entry has the key, but the closure gives another one.
  const std::string closure = EncodeManifest({{{.closure = one.closure}}});
  const std::string entry = EncodeEntry(other.key(), *one.artifact);
  const std::string forged =
      ByteWriter().Bytes(one.fingerprint.View()).Text(closure).Text(entry).Joined();
  CHECK_FALSE(DecodeArtifactRecord(other.key(), forged));
  CHECK_FALSE(DecodeArtifactRecord(one.key(), forged));
}

TEST_CASE("a record that was cut off or altered anywhere is refused") {
  const ArtifactRecord record = OverHeader("text");
  const std::string bytes = EncodeArtifactRecord(record);
  for (size_t place = 0; place < bytes.size(); ++place) {
    INFO(place);
    REQUIRE_FALSE(DecodeArtifactRecord(record.key(), bytes.substr(0, place)));
    std::string altered = bytes;
    altered[place] = static_cast<char>(altered[place] ^ 1);
    REQUIRE_FALSE(DecodeArtifactRecord(record.key(), altered));
  }
  CHECK_FALSE(DecodeArtifactRecord(record.key(), bytes + "x"));
}

TEST_CASE("a record with a wrong digest of a part is refused") {
  auto artifact = std::make_shared<Artifact>(*Record().artifact);
  artifact->parts.front().sha256 = Sha256("others");
  const ArtifactRecord record{Sha256("fingerprint"), {}, artifact};
  CHECK_FALSE(DecodeArtifactRecord(record.key(), EncodeArtifactRecord(record)));
}

TEST_CASE("a record with more names than a compile can have is refused") {
  ArtifactRecord record = Record();
  record.closure.entries.resize(kMaxClosureNames,
                                {.name = {1, "a.h"}, .kind = FileKind::kAbsent, .digest = {}});
  CHECK(DecodeArtifactRecord(record.key(), EncodeArtifactRecord(record)));
  record.closure.entries.push_back(record.closure.entries.front());
  CHECK_FALSE(DecodeArtifactRecord(record.key(), EncodeArtifactRecord(record)));
}

TEST_CASE("a record with an artifact without parts is refused") {
  const auto empty = std::make_shared<Artifact>();
  const ArtifactRecord record{Sha256("fingerprint"), {}, empty};
  CHECK_FALSE(DecodeArtifactRecord(record.key(), EncodeArtifactRecord(record)));
}

DepositCopy Copy(const std::string& name_space = "org.example") {
  return {name_space, cccl_cache::Sha256("fields"), std::make_shared<const std::string>("bytes")};
}

TEST_CASE("a deposit decodes under its identity") {
  const std::string bytes = EncodeDepositCopy(Copy());
  const auto back = DecodeDepositCopy(Copy().identity(), bytes);
  REQUIRE(back);
  CHECK(back->name_space == "org.example");
  CHECK(back->fields == Copy().fields);
  CHECK(*back->contents == "bytes");
  CHECK(EncodeDepositCopy(*back) == bytes);
}

TEST_CASE("a deposit is refused under another identity") {
  CHECK_FALSE(DecodeDepositCopy(Copy("other").identity(), EncodeDepositCopy(Copy())));
}

TEST_CASE("a deposit that is cut off, or has an invalid namespace, is refused") {
  const std::string bytes = EncodeDepositCopy(Copy());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(DecodeDepositCopy(Copy().identity(), bytes.substr(0, size)));
  }
  CHECK_FALSE(DecodeDepositCopy(Copy().identity(), bytes + "x"));
  for (const size_t length : {0, 129}) {
    const DepositCopy copy = Copy(std::string(length, 'n'));
    CHECK_FALSE(DecodeDepositCopy(copy.identity(), EncodeDepositCopy(copy)));
  }
}

}  // namespace
}  // namespace cccl_cache::daemon::records_test
