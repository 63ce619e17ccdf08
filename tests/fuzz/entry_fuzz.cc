// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Entries as a broken disk or another node may return them. The input is a body. Valid key, version
// and checksum are added, so that the fuzzer gets past these checks.
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/lookup/entry.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::daemon::Artifact;
using cccl_cache::daemon::DecodeEntry;
using cccl_cache::daemon::EncodeEntry;

constexpr std::string_view kMagicAndVersion("CCCLENT\n\1\0\0\0", 12);

const cccl_cache::Digest& Key() {
  static const cccl_cache::Digest key = cccl_cache::Sha256("key");
  return key;
}

std::string Body(const Artifact& artifact) {
  const std::string entry = EncodeEntry(Key(), artifact);
  const size_t around = kMagicAndVersion.size() + sizeof(Key().bytes);
  return entry.substr(around, entry.size() - around - sizeof(Key().bytes));
}

/// Checks that an artifact has one encoding, and that an incomplete encoding is refused.
void CheckDecoded(const std::string& entry, const Artifact& artifact) {
  assert(EncodeEntry(Key(), artifact) == entry);
  assert(DecodeEntry(cccl_cache::Sha256("another key"), entry) == nullptr);
  assert(DecodeEntry(Key(), std::string_view(entry).substr(0, entry.size() - 1)) == nullptr);
  assert(DecodeEntry(Key(), entry + '\0') == nullptr);
  std::string damaged = entry;
  damaged[entry.back() % entry.size()] ^= 1;
  assert(DecodeEntry(Key(), damaged) == nullptr);
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  Artifact failure;
  failure.log = "program.cu(1): error";
  failure.compile_time = std::chrono::microseconds(1234);
  Artifact success = failure;
  success.lowered_names = {{"f<int>", "_Z1fIiEvv"}, {"g", "_Z1gv"}};
  success.parts = {{cccl_cache::ArtifactKind::kPtx, ".version 9.0", cccl_cache::Sha256("ptx")},
                   {cccl_cache::ArtifactKind::kCubin,
                    "\x7f"
                    "ELF",
                    cccl_cache::Sha256("cubin")}};
  Artifact intermediate;
  intermediate.parts = {{cccl_cache::ArtifactKind::kLtoIr, "ir", cccl_cache::Sha256("ir"), true}};
  return {Body({}), Body(failure), Body(success), Body(intermediate)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static_cast<void>(DecodeEntry(Key(), input));

  std::string entry(kMagicAndVersion);
  entry.append(Key().View());
  entry.append(input);
  entry.append(cccl_cache::Sha256(entry).View());
  if (const auto artifact = DecodeEntry(Key(), entry)) CheckDecoded(entry, *artifact);
  return 0;
}
