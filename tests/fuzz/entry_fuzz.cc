// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Entries as a broken disk or another node may hand them over. The input is a body; key, version
// and checksum are put around it, or the fuzzer would never get past them.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/core/entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const cccl_cache::Digest key = cccl_cache::Sha256("key");
  static_cast<void>(cccl_cached::DecodeEntry(key, input));

  std::string entry("CCCLENT\n\1\0\0\0", 12);
  entry.append(key.View());
  entry.append(input);
  entry.append(cccl_cache::Sha256(entry).View());
  if (const cccl_cached::ArtifactPtr artifact = cccl_cached::DecodeEntry(key, entry)) {
    // One artifact has one form: what decodes encodes to the same bytes.
    assert(cccl_cached::EncodeEntry(key, *artifact) == entry);
  }
  return 0;
}
