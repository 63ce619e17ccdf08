// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/manifest_table.h"

#include <utility>

namespace cccl_cached {

using cccl_cache::Digest;

namespace {

// Decoded ones take about twice as much as their entries, and at least this.
constexpr size_t kMostDecodedBytes = 16 << 20;
constexpr size_t kDecodedBytes = 512;

size_t WeightOf(const Artifact& entry) { return kDecodedBytes + entry.log.size(); }

}  // namespace

std::shared_ptr<const Manifest> ManifestTable::Find(const Digest& fingerprint) {
  const Digest key = ManifestKey(fingerprint);
  for (size_t i = 0; i < tiers_.size(); ++i) {
    const ArtifactPtr entry = tiers_[i]->Get(key);
    if (entry == nullptr) continue;
    for (size_t above = 0; above < i; ++above) tiers_[above]->Put(key, entry);
    return Decode(fingerprint, entry);
  }
  return std::make_shared<const Manifest>();
}

ManifestTable::ManifestPtr ManifestTable::Decode(const Digest& fingerprint,
                                                 const ArtifactPtr& entry) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = decoded_.find(fingerprint);
    if (known != decoded_.end() && known->second.entry == entry) return known->second.manifest;
  }
  Manifest manifest = DecodeManifest(entry->log).value_or(Manifest{});
  for (KnownClosure& known : manifest.closures) known.key = KeyOf(fingerprint, known.closure);
  auto decoded = std::make_shared<const Manifest>(std::move(manifest));
  Remember(fingerprint, {entry, decoded});
  return decoded;
}

void ManifestTable::Remember(const Digest& fingerprint, Decoded decoded) {
  const size_t bytes = WeightOf(*decoded.entry);
  if (bytes > kMostDecodedBytes / 4) return;
  const std::lock_guard lock(mutex_);
  // Those in use come back at their next hit.
  if (decoded_bytes_ + bytes > kMostDecodedBytes) {
    decoded_.clear();
    decoded_bytes_ = 0;
  }
  Decoded& place = decoded_[fingerprint];
  if (place.entry != nullptr) decoded_bytes_ -= WeightOf(*place.entry);
  place = std::move(decoded);
  decoded_bytes_ += bytes;
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
