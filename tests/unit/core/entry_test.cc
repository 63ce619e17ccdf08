// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/entry.h"

#include <catch2/catch.hpp>
#include <string>

#include "daemon/core/model/limits.h"

namespace cccl_cache::daemon::entry_test {
namespace {

using cccl_cache::ArtifactKind;
using cccl_cache::Digest;
using cccl_cache::Sha256;

const Digest kKey = Sha256("key");

Artifact Sample() {
  Artifact artifact;
  const std::string cubin(
      "\x7f"
      "ELF\0cubin",
      10);
  artifact.parts.push_back({ArtifactKind::kCubin, cubin, Sha256(cubin)});
  artifact.parts.push_back({ArtifactKind::kPtx, ".version 9.0", Sha256(".version 9.0")});
  artifact.lowered_names = {{"f<int>", "_Z1fIiEvv"}, {"g", ""}};
  artifact.log = "warning #1";
  artifact.compile_time = std::chrono::microseconds(1'234'567);
  return artifact;
}

/// Returns the bytes with their checksum.
std::string Resealed(std::string entry) {
  entry.resize(entry.size() - 32);
  entry.append(Sha256(entry).View());
  return entry;
}

constexpr size_t kBodyStart = 8 + 4 + 32;

TEST_CASE("a decoded entry equals the encoded artifact") {
  const Artifact sample = Sample();
  const ArtifactPtr decoded = DecodeEntry(kKey, EncodeEntry(kKey, sample));
  REQUIRE(decoded);
  REQUIRE(decoded->parts.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(decoded->parts[i].kind == sample.parts[i].kind);
    CHECK(decoded->parts[i].bytes == sample.parts[i].bytes);
    CHECK(decoded->parts[i].sha256 == sample.parts[i].sha256);
  }
  CHECK(decoded->lowered_names == sample.lowered_names);
  CHECK(decoded->log == sample.log);
  CHECK(decoded->compile_time == sample.compile_time);
}

TEST_CASE("LTO-IR with a precompiled header stays marked, and other parts stay unmarked") {
  for (const bool precompiled : {true, false}) {
    Artifact artifact = Sample();
    artifact.parts[1] = {ArtifactKind::kLtoIr, "ir", Sha256("ir"), precompiled};
    const ArtifactPtr decoded = DecodeEntry(kKey, EncodeEntry(kKey, artifact));
    REQUIRE(decoded);
    CHECK(decoded->parts[1].kind == ArtifactKind::kLtoIr);
    CHECK(decoded->parts[1].precompiled == precompiled);
    CHECK_FALSE(decoded->parts[0].precompiled);
  }
}

TEST_CASE("an artifact without parts, names or log can be encoded and decoded") {
  const ArtifactPtr decoded = DecodeEntry(kKey, EncodeEntry(kKey, Artifact{}));
  REQUIRE(decoded);
  CHECK(decoded->parts.empty());
  CHECK(decoded->lowered_names.empty());
}

TEST_CASE("an entry is a miss under another key than its own") {
  CHECK_FALSE(DecodeEntry(Sha256("other"), EncodeEntry(kKey, Sample())));
}

TEST_CASE("corrupt_entry: any flipped bit is a miss") {
  const std::string entry = EncodeEntry(kKey, Sample());
  for (size_t bit = 0; bit < entry.size() * 8; ++bit) {
    std::string flipped = entry;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    INFO("bit " << bit);
    CHECK_FALSE(DecodeEntry(kKey, flipped));
  }
}

TEST_CASE("an entry cut short anywhere is a miss") {
  const std::string entry = EncodeEntry(kKey, Sample());
  for (size_t size = 0; size < entry.size(); ++size) {
    INFO("first " << size << " bytes");
    CHECK_FALSE(DecodeEntry(kKey, entry.substr(0, size)));
    if (size >= 32) CHECK_FALSE(DecodeEntry(kKey, Resealed(entry.substr(0, size))));
  }
}

TEST_CASE("an entry with bytes after it is a miss, even with a correct checksum") {
  const std::string entry = EncodeEntry(kKey, Sample());
  CHECK_FALSE(DecodeEntry(kKey, entry + "x"));
  std::string longer = entry;
  longer.insert(longer.size() - 32, "x");
  CHECK_FALSE(DecodeEntry(kKey, Resealed(longer)));
}

TEST_CASE("an entry with lengths beyond its end is a miss, even with a correct checksum") {
  const std::string entry = EncodeEntry(kKey, Sample());
  for (size_t at = kBodyStart; at < entry.size() - 32; ++at) {
    for (size_t width : {size_t{1}, size_t{4}, size_t{8}}) {
      if (at + width > entry.size() - 32) continue;
      std::string hostile = entry;
      hostile.replace(at, width, width, '\xff');
      // Most changes break the structure; the others change a value. None may cause a crash or a
      // huge allocation.
      const ArtifactPtr decoded = DecodeEntry(kKey, Resealed(hostile));
      if (decoded) CHECK(EncodeEntry(kKey, *decoded) == Resealed(hostile));
    }
  }
  std::string hostile = entry;
  hostile.replace(kBodyStart + 8, 8, 8, '\xff');  // the log's length
  CHECK_FALSE(DecodeEntry(kKey, Resealed(hostile)));
}

TEST_CASE("an entry with too many names or parts is a miss") {
  Artifact artifact = Sample();
  artifact.lowered_names.assign(kMaxListed, {"f", "g"});
  CHECK(DecodeEntry(kKey, EncodeEntry(kKey, artifact)) != nullptr);
  artifact.lowered_names.emplace_back("f", "g");
  CHECK(DecodeEntry(kKey, EncodeEntry(kKey, artifact)) == nullptr);
  artifact = Sample();
  artifact.parts.resize(4, artifact.parts.front());
  CHECK(DecodeEntry(kKey, EncodeEntry(kKey, artifact)) != nullptr);
  artifact.parts.push_back(artifact.parts.front());
  CHECK(DecodeEntry(kKey, EncodeEntry(kKey, artifact)) == nullptr);
}

TEST_CASE("an entry with an unknown kind of artifact is a miss") {
  Artifact artifact = Sample();
  for (int kind : {0, 6, 255}) {
    artifact.parts[0].kind = static_cast<ArtifactKind>(kind);
    CHECK_FALSE(DecodeEntry(kKey, EncodeEntry(kKey, artifact)));
  }
}

TEST_CASE("an entry of another format version is a miss") {
  std::string entry = EncodeEntry(kKey, Sample());
  entry[8] = 2;
  CHECK_FALSE(DecodeEntry(kKey, Resealed(entry)));
}

TEST_CASE("the entry format does not change by accident") {
  CHECK(Sha256(EncodeEntry(kKey, Sample())).Hex() ==
        "7189f0f5a0a2e5f3a74c61ec5ca07df27d8e4ec5119614e60abfe0f977c865ee");
}

}  // namespace
}  // namespace cccl_cache::daemon::entry_test
