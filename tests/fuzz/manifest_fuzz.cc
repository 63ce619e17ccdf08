// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Manifests as a broken disk or another node may return them.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/lookup/manifest.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::daemon::Closure;
using cccl_cache::daemon::FileKind;
using cccl_cache::daemon::KnownClosure;
using cccl_cache::daemon::Manifest;

/// Checks that different closures have different keys.
void CheckKeys(const std::vector<KnownClosure>& closures) {
  std::vector<cccl_cache::Digest> keys;
  for (const KnownClosure& known : closures) keys.push_back(KeyOf({}, known.closure));
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      assert((keys[i] == keys[j]) == (closures[i].closure == closures[j].closure));
    }
  }
}

/// Checks that an added closure is first in the list and occurs once.
void CheckAdding(Manifest manifest) {
  if (manifest.closures.empty()) return;
  const KnownClosure known = manifest.closures.back();
  manifest.Add(known);
  assert(manifest.closures.front() == known);
  assert(std::ranges::count(manifest.closures, known) == 1);
  manifest.Add({});
  assert(manifest.closures.size() <= Manifest::kMaxClosures);
  assert(cccl_cache::daemon::DecodeManifest(cccl_cache::daemon::EncodeManifest(manifest)) ==
         manifest);
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  Closure closure;
  closure.entries = {{{1, "cub/cub.cuh"}, FileKind::kAbsent, {}, 0},
                     {{2, "cub/cub.cuh"}, FileKind::kFile, cccl_cache::Sha256("cub"), 1},
                     {{cccl_cache::daemon::kAbsoluteRoot, "/opt/link.cuh"},
                      FileKind::kFile,
                      cccl_cache::Sha256("cub"),
                      1},
                     {{2, ""}, FileKind::kDirectory, {}, 3}};
  closure.entries.push_back({{cccl_cache::daemon::kToolchainRoot, "0/cub"},
                             FileKind::kToolchain,
                             cccl_cache::Sha256("cub"),
                             0});
  Closure shorter = closure;
  shorter.entries.pop_back();
  Closure renamed = closure;
  renamed.entries[0].name = {2, "other"};
  return {cccl_cache::daemon::EncodeManifest({}),
          cccl_cache::daemon::EncodeManifest({.closures = {{closure, true}}}),
          cccl_cache::daemon::EncodeManifest({.closures = {{closure}, {shorter}, {renamed}, {}}})};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto manifest = cccl_cache::daemon::DecodeManifest(input);
  if (!manifest) return 0;
  // A manifest has one encoding. It leaves out owners that are users of containers.
  const std::string encoded = cccl_cache::daemon::EncodeManifest(*manifest);
  assert(encoded == input || encoded.size() < input.size());
  assert(cccl_cache::daemon::DecodeManifest(encoded) == manifest);
  CheckKeys(manifest->closures);
  CheckAdding(*manifest);
  return 0;
}
