// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/signed_entry.h"

#include <zstd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/codec.h"
#include "daemon/core/lookup/entry.h"
#include "daemon/core/lookup/manifest.h"
#include "proto/compression.h"

namespace signed_entry_test {

using namespace cccl_cache::daemon;
using cccl_cache::ByteWriter;
using cccl_cache::Digest;
using cccl_cache::Sha256;
using cccl_cache::SigningKey;
using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::sys_seconds;

namespace {

constexpr sys_seconds kNow{seconds(1'800'000'000)};
constexpr seconds kMaxAge = hours(24 * 30);
constexpr uint64_t kMaxBytes = 1 << 20;
// Size of head and signature.
constexpr size_t kCompressedFrom = 153 + 64;

SigningKey KeyOf(uint8_t number) {
  SigningKey::Seed seed{};
  seed[0] = number;
  return SigningKey(seed);
}

const TrustList kTrusted({KeyOf(1).public_key(), KeyOf(2).public_key()});
const EntryName kName = {EntryKind::kArtifact, Sha256("key"), Sha256("toolchain")};

Artifact Sample() {
  Artifact artifact;
  const std::string ptx(5000, 'x');
  artifact.parts.push_back({cccl_cache::ArtifactKind::kPtx, ptx, Sha256(ptx)});
  artifact.log = "warning #1";
  artifact.compile_time = std::chrono::microseconds(1'234'567);
  return artifact;
}

std::string Signed(const EntryName& name = kName, uint8_t signer = 1, sys_seconds at = kNow) {
  Result<std::string> bytes =
      SignEntry(name, {.artifact = std::make_shared<const Artifact>(Sample())}, KeyOf(signer), at);
  REQUIRE(bytes.ok());
  return *std::move(bytes);
}

/// Returns an entry with these values, which may be wrong, and a trusted node's valid signature.
std::string SignedLie(uint32_t raw_bytes, const std::string& compressed) {
  ByteWriter writer;
  writer.Bytes("CCCLSGN\n").Put<uint32_t>(1).Put(kName.kind).Bytes(kName.key.View());
  writer.Bytes(kName.toolchain.View()).Bytes(KeyOf(1).public_key().View());
  writer.Put<uint64_t>(kNow.time_since_epoch().count()).Put(raw_bytes);
  std::string bytes = writer.Bytes(Sha256(compressed).View()).Joined();
  return bytes.append(KeyOf(1).Sign(bytes).View()).append(compressed);
}

std::string Compressed(const std::string& raw) {
  std::string compressed(ZSTD_compressBound(raw.size()), '\0');
  compressed.resize(ZSTD_compress(compressed.data(), compressed.size(), raw.data(), raw.size(), 3));
  return compressed;
}

OpeningRules Rules(const TrustList& trusted = kTrusted) {
  return {.trusted = trusted, .now = kNow, .max_age = kMaxAge, .max_bytes = kMaxBytes};
}

ArtifactPtr Opened(const std::string& bytes, const EntryName& asked = kName,
                   const OpeningRules& rules = Rules()) {
  const auto opened = OpenEntry(asked, bytes, rules);
  const auto* entry = std::get_if<SharedEntry>(&opened);
  return entry == nullptr ? nullptr : entry->artifact;
}

/// Returns none for an accepted entry.
std::optional<EntryRefusal> Refused(const std::string& bytes, const EntryName& asked = kName,
                                    const OpeningRules& rules = Rules()) {
  const auto opened = OpenEntry(asked, bytes, rules);
  const auto* refusal = std::get_if<EntryRefusal>(&opened);
  return refusal == nullptr ? std::nullopt : std::optional(*refusal);
}

}  // namespace

TEST_CASE("an entry of any trusted node decodes to the signed artifact") {
  for (const uint8_t signer : {1, 2}) {
    const ArtifactPtr artifact = Opened(Signed(kName, signer));
    REQUIRE(artifact != nullptr);
    CHECK(EncodeEntry(kName.key, *artifact) == EncodeEntry(kName.key, Sample()));
  }
}

TEST_CASE("a manifest and a deposit are encoded as the log of an artifact") {
  const auto log_of = [](const EntryName& name, const SharedEntry& entry) {
    const Result<std::string> bytes = SignEntry(name, entry, KeyOf(1), kNow);
    REQUIRE(bytes.ok());
    const std::string compressed = bytes->substr(kCompressedFrom);
    const auto raw = cccl_cache::Decompress(
        compressed, ZSTD_getFrameContentSize(compressed.data(), compressed.size()));
    REQUIRE(raw);
    const ArtifactPtr envelope = DecodeEntry(name.key, *raw);
    REQUIRE(envelope != nullptr);
    CHECK(envelope->parts.empty());
    CHECK(envelope->compile_time.count() == 7);
    const auto opened = OpenEntry(name, *bytes, Rules());
    const auto* const read = std::get_if<SharedEntry>(&opened);
    REQUIRE(read != nullptr);
    CHECK(read->artifact == nullptr);
    if (entry.manifest != nullptr) CHECK(*read->manifest == *entry.manifest);
    if (entry.deposit != nullptr) CHECK(*read->deposit == *entry.deposit);
    CHECK(read->took == entry.took);
    return envelope->log;
  };
  auto manifest = std::make_shared<Manifest>();
  manifest->closures.resize(1);
  manifest->closures[0].closure.entries = {{{0, "a.h"}, FileKind::kFile, Sha256("a"), 0}};
  manifest->compile_time = std::chrono::microseconds(7);
  CHECK(log_of({EntryKind::kManifest, kName.key, kName.toolchain}, {.manifest = manifest}) ==
        EncodeManifest(*manifest));
  const auto contents = std::make_shared<const std::string>("contents");
  CHECK(log_of({EntryKind::kDeposit, kName.key, {}},
               {.deposit = contents, .took = std::chrono::microseconds(7)}) == "contents");
}

TEST_CASE("a signed entry under a manifest's name that is no manifest is corrupt") {
  const EntryName name = {EntryKind::kManifest, kName.key, kName.toolchain};
  CHECK(Refused(Signed(name), name) == EntryRefusal::kCorrupt);
}

TEST_CASE("an entry is compressed") {
  CHECK(Signed().size() < EncodeEntry(kName.key, Sample()).size() / 2);
}

TEST_CASE("unsigned: an entry with a zero or missing signature is refused") {
  std::string bytes = Signed();
  bytes.replace(kCompressedFrom - 64, 64, 64, '\0');
  CHECK(Refused(bytes) == EntryRefusal::kForged);
  CHECK(Refused(EncodeEntry(kName.key, Sample())) == EntryRefusal::kMalformed);
  // A key of zeros is in no list.
  bytes = Signed();
  bytes.replace(8 + 4 + 1 + 64, 32, 32, '\0');
  CHECK(Refused(bytes) == EntryRefusal::kUntrusted);
}

TEST_CASE("signed_by_a_stranger: an entry that no trusted key signed is refused") {
  CHECK(Refused(Signed(kName, 3)) == EntryRefusal::kUntrusted);
  // The signer named in the head is a trusted key.
  std::string bytes = Signed(kName, 3);
  bytes.replace(8 + 4 + 1 + 64, 32, KeyOf(1).public_key().View());
  CHECK(Refused(bytes) == EntryRefusal::kForged);
  // The signer named in the head is another trusted key.
  bytes = Signed(kName, 2);
  bytes.replace(8 + 4 + 1 + 64, 32, KeyOf(1).public_key().View());
  CHECK(Refused(bytes) == EntryRefusal::kForged);
}

TEST_CASE("revoked: an entry of a key that left the list is refused") {
  const std::string bytes = Signed(kName, 2);
  CHECK(Refused(bytes) == std::nullopt);
  const TrustList without({KeyOf(1).public_key()});
  CHECK(Refused(bytes, kName, Rules(without)) == EntryRefusal::kUntrusted);
  const TrustList none;
  CHECK(Refused(bytes, kName, Rules(none)) == EntryRefusal::kUntrusted);
}

TEST_CASE("swapped_between_keys: an entry is invalid for another key, toolchain or kind") {
  const EntryName other_key = {kName.kind, Sha256("another"), kName.toolchain};
  const EntryName other_toolchain = {kName.kind, kName.key, Sha256("another")};
  const EntryName other_kind = {EntryKind::kManifest, kName.key, kName.toolchain};
  const EntryName deposit = {EntryKind::kDeposit, kName.key, kName.toolchain};
  for (const EntryName& other : {other_key, other_toolchain, other_kind, deposit}) {
    CHECK(Refused(Signed(), other) == EntryRefusal::kOtherKey);
    CHECK(Refused(Signed(other)) == EntryRefusal::kOtherKey);
    // The head of one entry before the rest of the other.
    std::string bytes = Signed(other);
    bytes.replace(0, 8 + 4 + 1 + 64, Signed(), 0, 8 + 4 + 1 + 64);
    CHECK(Refused(bytes) == EntryRefusal::kForged);
  }
}

TEST_CASE("truncated: an entry cut short anywhere or made longer is refused") {
  const std::string bytes = Signed();
  for (size_t size = 0; size < bytes.size(); ++size) {
    INFO("first " << size << " bytes");
    CHECK(Refused(bytes.substr(0, size)) ==
          (size <= kCompressedFrom ? EntryRefusal::kMalformed : EntryRefusal::kCorrupt));
  }
  CHECK(Refused(bytes + '\0') == EntryRefusal::kCorrupt);
}

TEST_CASE(
    "any flipped bit is refused, and one after the signature counts as damage, not as a forgery") {
  const std::string bytes = Signed();
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    INFO("byte " << at);
    const std::optional<EntryRefusal> refusal = Refused(flipped);
    CHECK(refusal.has_value());
    CHECK((refusal == EntryRefusal::kCorrupt) == (at >= kCompressedFrom));
  }
}

TEST_CASE("zip_bomb: a frame that would exceed its announced or allowed size is not unpacked") {
  const std::string zeros(size_t{64} << 20, '\0');
  const std::string bomb = Compressed(zeros);
  REQUIRE(bomb.size() < 10'000);
  CHECK(Refused(SignedLie(static_cast<uint32_t>(zeros.size()), bomb)) == EntryRefusal::kTooLarge);
  CHECK(Refused(SignedLie(kMaxBytes, bomb)) == EntryRefusal::kCorrupt);
  CHECK(Refused(SignedLie(0, bomb)) == EntryRefusal::kCorrupt);
  // The frame itself announces less than it has, in four bytes after magic, flags and window.
  std::string liar = bomb;
  REQUIRE(static_cast<uint8_t>(liar[4]) == 0x80);
  liar.replace(6, 4, std::string("\0\0\x10\0", 4));
  CHECK(Refused(SignedLie(kMaxBytes, liar)) == EntryRefusal::kCorrupt);
  // A second frame is not part of the entry, even an empty one.
  const std::string entry = EncodeEntry(kName.key, Sample());
  CHECK(Refused(SignedLie(static_cast<uint32_t>(entry.size()), Compressed(entry))) == std::nullopt);
  for (const std::string& second : {bomb, Compressed("")}) {
    CHECK(Refused(SignedLie(static_cast<uint32_t>(entry.size()), Compressed(entry) + second)) ==
          EntryRefusal::kCorrupt);
  }
}

TEST_CASE("an entry may be as large as the caller allows, and no larger") {
  const uint64_t size = EncodeEntry(kName.key, Sample()).size();
  OpeningRules rules = Rules();
  rules.max_bytes = size;
  CHECK(Refused(Signed(), kName, rules) == std::nullopt);
  rules.max_bytes = size - 1;
  CHECK(Refused(Signed(), kName, rules) == EntryRefusal::kTooLarge);
}

TEST_CASE("signed bytes that are no entry are refused") {
  for (const std::string& raw : {std::string("text"), EncodeEntry(Sha256("another"), Sample())}) {
    CHECK(Refused(SignedLie(static_cast<uint32_t>(raw.size()), Compressed(raw))) ==
          EntryRefusal::kCorrupt);
  }
  CHECK(Refused(SignedLie(4, "text")) == EntryRefusal::kCorrupt);
}

TEST_CASE("old_replayed: an entry older than the limit is refused") {
  CHECK(Refused(Signed(kName, 1, kNow - kMaxAge)) == std::nullopt);
  CHECK(Refused(Signed(kName, 1, kNow - kMaxAge - seconds(1))) == EntryRefusal::kExpired);
  std::string newer = Signed(kName, 1, kNow - kMaxAge - seconds(1));
  newer.replace(8 + 4 + 1 + 96, 8, Signed(), 8 + 4 + 1 + 96, 8);
  CHECK(Refused(newer) == EntryRefusal::kForged);
}

TEST_CASE("an entry from a clock up to ten minutes ahead is accepted") {
  CHECK(Refused(Signed(kName, 1, kNow + kMaxClockAhead)) == std::nullopt);
  CHECK(Refused(Signed(kName, 1, kNow + kMaxClockAhead + seconds(1))) == EntryRefusal::kExpired);
  CHECK(Refused(Signed(kName, 1, sys_seconds::max())) == EntryRefusal::kExpired);
}

TEST_CASE("an entry of another version is malformed") {
  std::string bytes = Signed();
  bytes[8] = 2;
  CHECK(Refused(bytes) == EntryRefusal::kMalformed);
}

}  // namespace signed_entry_test
