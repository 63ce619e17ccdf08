// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "daemon/core/manifest.h"
#include "daemon/core/tier.h"
#include "proto/digest.h"

namespace cccl_cached {

/// The manifests of all fingerprints, in the tiers. Thread-safe.
class ManifestTable {
 public:
  /// The tiers must outlive the table.
  explicit ManifestTable(std::vector<Tier*> tiers) : tiers_(std::move(tiers)) {}

  /// Never null; empty if nothing is known.
  [[nodiscard]] std::shared_ptr<const Manifest> Find(const cccl_cache::Digest& fingerprint) const;
  void Add(const cccl_cache::Digest& fingerprint, const KnownClosure& closure);

 private:
  const std::vector<Tier*> tiers_;
  std::mutex adding_;  // one at a time: none gets lost
};

}  // namespace cccl_cached
