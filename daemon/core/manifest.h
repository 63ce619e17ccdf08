// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/artifact.h"
#include "daemon/core/closure.h"
#include "proto/digest.h"

namespace cccl_cached {

/// What is known of a fingerprint besides its artifacts: the closures that compiles of it had, the
/// newest first, and whether its output shows the paths of its files. The tiers keep it as an entry
/// like any other, under a key of its own: it is verified, bounded and evicted like them.
struct Manifest {
  static constexpr size_t kMostClosures = 8;

  bool shows_paths = false;
  std::vector<Closure> closures;

  /// Puts the closure in front, where it was already or not; the oldest goes when there are too
  /// many.
  void Add(Closure closure);

  bool operator==(const Manifest&) const = default;
};

/// Under which the tiers keep the manifest of a fingerprint.
[[nodiscard]] cccl_cache::Digest ManifestKey(const cccl_cache::Digest& fingerprint);

[[nodiscard]] std::string EncodeManifest(const Manifest& manifest);
/// None if anything is malformed. `bytes` may come from anybody.
[[nodiscard]] std::optional<Manifest> DecodeManifest(std::string_view bytes);

}  // namespace cccl_cached
