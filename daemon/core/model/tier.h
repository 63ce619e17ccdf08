// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/core/model/artifact.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// Stored and sent: values never change; the same numbers as in build.proto.
enum class TierName : uint8_t { kNone = 0, kMemory = 1, kDisk = 2, kRemote = 3, kArena = 4 };

/// A place to look for artifacts. Implementations are thread-safe; bytes that come from outside the
/// process are verified here or count as a miss.
class Tier {
 public:
  virtual ~Tier() = default;

  virtual TierName name() const = 0;
  /// Null is a miss. Never an error: what can't be read or does not verify is a miss, counted and
  /// dropped.
  virtual ArtifactPtr Get(const cccl_cache::Digest& key) = 0;
  /// Whether Get would probably find it: reads no artifact, verifies nothing, and is no use of it.
  virtual bool Holds(const cccl_cache::Digest& key) = 0;
  /// Keeps the artifact if it can. Never waits for a disk.
  virtual void Put(const cccl_cache::Digest& key, ArtifactPtr artifact) = 0;
  /// Forgets what is wrong. Never waits for a disk.
  virtual void Remove(const cccl_cache::Digest& key) = 0;
};

/// What a tier holds now.
struct TierSize {
  uint64_t entries = 0;
  uint64_t bytes = 0;
};

/// Small facts that survive a restart: toolchain stamps, counters. Not for what a client can
/// multiply: nothing here is evicted. Thread-safe.
class MetaStore {
 public:
  virtual ~MetaStore() = default;

  virtual std::optional<std::string> GetMeta(std::string_view name) = 0;
  /// Written behind, like artifacts.
  virtual void PutMeta(std::string_view name, std::string_view value) = 0;
};

}  // namespace cccl_cache::daemon
