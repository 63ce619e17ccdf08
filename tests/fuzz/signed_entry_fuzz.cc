// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Entries that anyone may have written to the shared Redis. The input is tried as an entry and as
// the compressed bytes of an entry. The latter is signed, so that the fuzzer gets past the
// signature.
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/codec.h"
#include "daemon/remote/signed_entry.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cache::daemon;
using cccl_cache::Sha256;
using cccl_cache::SigningKey;

constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'800'000'000)};
constexpr uint64_t kMaxBytes = 1 << 20;
constexpr size_t kCompressedFrom = 153 + 64;

struct Scene {
  const SigningKey key = SigningKey(SigningKey::Seed{1});
  const TrustList trusted = TrustList({key.public_key()});
  const EntryName name = {EntryKind::kArtifact, Sha256("key"), Sha256("toolchain")};

  [[nodiscard]] std::variant<SharedEntry, EntryRefusal> Open(std::string_view bytes) const {
    return OpenEntry(name, bytes, {trusted, kNow, std::chrono::seconds(3600), kMaxBytes});
  }
};

const Scene& Known() {
  static const Scene scene;
  return scene;
}

std::string Signed(const SharedEntry& entry) {
  return *SignEntry(Known().name, entry, Known().key, kNow);
}

std::string SignedAround(uint32_t raw_bytes, std::string_view compressed) {
  const Scene& scene = Known();
  cccl_cache::ByteWriter writer;
  writer.Bytes("CCCLSGN\n").Put<uint32_t>(1).Put(scene.name.kind);
  writer.Bytes(scene.name.key.View()).Bytes(scene.name.toolchain.View());
  writer.Bytes(scene.key.public_key().View());
  writer.Put<uint64_t>(kNow.time_since_epoch().count()).Put(raw_bytes);
  std::string bytes = writer.Bytes(Sha256(compressed).View()).Joined();
  return bytes.append(scene.key.Sign(bytes).View()).append(compressed);
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  auto artifact = std::make_shared<Artifact>();
  artifact->log = "program.cu(1): error";
  const std::string bytes = Signed({.artifact = artifact});
  const std::string size = bytes.substr(kCompressedFrom - 64 - 32 - 4, 4);
  return {bytes, size + bytes.substr(kCompressedFrom)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // Only the first seed has a valid signature.
  if (std::holds_alternative<SharedEntry>(Known().Open(input))) {
    assert(input == cccl_cached_fuzz::Seeds().front());
  }
  cccl_cache::ByteReader reader(input);
  const auto raw_bytes = reader.Take<uint32_t>();
  const std::string bytes = SignedAround(raw_bytes, reader.rest());
  const auto opened = Known().Open(bytes);
  if (const auto* entry = std::get_if<SharedEntry>(&opened)) {
    assert(raw_bytes <= kMaxBytes);
    const auto again = Known().Open(Signed(*entry));
    assert(std::holds_alternative<SharedEntry>(again));
  } else {
    const EntryRefusal refusal = std::get<EntryRefusal>(opened);
    assert(refusal == EntryRefusal::kCorrupt || refusal == EntryRefusal::kTooLarge ||
           refusal == EntryRefusal::kMalformed);
    assert((refusal == EntryRefusal::kMalformed) == reader.rest().empty());
  }
  return 0;
}
