// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Manifests as a broken disk or another node may hand them over.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/core/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto manifest = cccl_cached::DecodeManifest(input);
  // One manifest has one form: what decodes encodes to the same bytes.
  if (manifest) assert(cccl_cached::EncodeManifest(*manifest) == input);
  return 0;
}
