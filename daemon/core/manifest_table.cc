// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/manifest_table.h"

#include <utility>

namespace cccl_cached {

using cccl_cache::Digest;

std::shared_ptr<const Manifest> ManifestTable::Find(const Digest& fingerprint) const {
  const Digest key = ManifestKey(fingerprint);
  for (size_t i = 0; i < tiers_.size(); ++i) {
    const ArtifactPtr entry = tiers_[i]->Get(key);
    if (entry == nullptr) continue;
    for (size_t above = 0; above < i; ++above) tiers_[above]->Put(key, entry);
    return std::make_shared<const Manifest>(DecodeManifest(entry->log).value_or(Manifest{}));
  }
  return std::make_shared<const Manifest>();
}

void ManifestTable::Add(const Digest& fingerprint, const KnownClosure& closure) {
  const std::lock_guard lock(adding_);
  Manifest manifest = *Find(fingerprint);
  manifest.Add(closure);
  auto entry = std::make_shared<Artifact>();
  entry->log = EncodeManifest(manifest);
  for (Tier* tier : tiers_) tier->Put(ManifestKey(fingerprint), entry);
}

}  // namespace cccl_cached
