// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Records of artifacts that a snapshot may contain.
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/snapshot/records.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::daemon::ArtifactRecord;

ArtifactRecord Record(bool with_closure) {
  auto artifact = std::make_shared<cccl_cache::daemon::Artifact>();
  // One seed has a compile time, the other has none.
  if (with_closure) artifact->compile_time = std::chrono::seconds(4);
  artifact->parts = {{cccl_cache::ArtifactKind::kCubin, "cubin", cccl_cache::Sha256("cubin")}};
  ArtifactRecord record{cccl_cache::Sha256("fingerprint"), {}, artifact};
  if (with_closure) {
    record.closure.entries = {{.name = {1, "a.h"},
                               .kind = cccl_cache::daemon::FileKind::kFile,
                               .digest = cccl_cache::Sha256("a.h")}};
  }
  return record;
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  return {EncodeArtifactRecord(Record(false)), EncodeArtifactRecord(Record(true))};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const bool with_closure : {false, true}) {
    const cccl_cache::Digest key = Record(with_closure).key();
    const auto record = cccl_cache::daemon::DecodeArtifactRecord(key, input);
    if (!record) continue;
    assert(record->key() == key);
    assert(record->artifact->compile_time <= cccl_cache::daemon::kMaxCompileTimeOfRecord);
    assert(EncodeArtifactRecord(*record) == input);
    assert(record->closure.entries.size() <= cccl_cache::daemon::kMaxClosureNames);
    for (const cccl_cache::daemon::ArtifactPart& part : record->artifact->parts) {
      assert(cccl_cache::Sha256(part.bytes) == part.sha256);
    }
    assert(!cccl_cache::daemon::DecodeArtifactRecord(cccl_cache::Sha256("another"), input));
  }
  return 0;
}
