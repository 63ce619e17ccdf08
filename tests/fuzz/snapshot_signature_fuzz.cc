// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Signatures of snapshots that anyone may have written to a shelf. The input is tried as a
// signature file, and as the rest of a head. The latter is signed, so that the fuzzer gets past the
// signature.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/snapshot/snapshot_signature.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace cccl_cache;

constexpr size_t kHeadOfSigner = 8 + 4 + 32;

const SigningKey& Key() {
  static const SigningKey key(SigningKey::Seed{1});
  return key;
}

std::string Signed() {
  return EncodeSnapshotSignature({.time = std::chrono::sys_seconds(std::chrono::seconds(1)),
                                  .file_bytes = 2,
                                  .index_sha256 = Sha256("index"),
                                  .fingerprints = {Sha256("one"), Sha256("two")}},
                                 Key());
}

std::variant<SnapshotSignature, std::string> Decode(std::string_view bytes) {
  return DecodeSnapshotSignature(bytes,
                                 [](const PublicKey& key) { return key == Key().public_key(); });
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const std::string bytes = Signed();
  return {bytes, bytes.substr(kHeadOfSigner, kSignatureHeadBytes - kHeadOfSigner) +
                     bytes.substr(kSignatureHeadBytes + 64)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // Only the seed has a valid signature.
  if (std::holds_alternative<SnapshotSignature>(Decode(input))) assert(input == Signed());
  const size_t rest = kSignatureHeadBytes - kHeadOfSigner;
  if (input.size() < rest) return 0;
  std::string bytes = Signed().substr(0, kHeadOfSigner).append(input.substr(0, rest));
  bytes.append(Key().Sign(bytes).View()).append(input.substr(rest));
  const auto decoded = Decode(bytes);
  if (const auto* signature = std::get_if<SnapshotSignature>(&decoded)) {
    assert(EncodeSnapshotSignature(*signature, Key()) == bytes);
  }
  return 0;
}
