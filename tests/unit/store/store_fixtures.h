// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/artifact.h"
#include "daemon/core/model/statistics.h"
#include "daemon/store/rocksdb_store.h"
#include "proto/digest.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/wait_until.h"

namespace cccl_cache::daemon::store_test {

/// Collects reports. Thread-safe.
class Reports {
 public:
  [[nodiscard]] Report Sink() {
    return [this](std::string_view text) {
      const std::lock_guard lock(mutex_);
      all_.append(text).append("\n");
    };
  }
  [[nodiscard]] bool Contain(std::string_view text) const {
    const std::lock_guard lock(mutex_);
    return all_.find(text) != std::string::npos;
  }
  [[nodiscard]] std::string All() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::string all_;
};

inline cccl_cache::Digest Key(uint64_t number) {
  return cccl_cache::Sha256("key " + std::to_string(number));
}

/// Returns an artifact with incompressible bytes that depend on the number.
inline ArtifactPtr Numbered(uint64_t number, size_t bytes, int64_t compile_microseconds = 1000) {
  auto artifact = std::make_shared<Artifact>();
  std::string contents;
  contents.reserve(bytes + 32);
  for (uint64_t block = 0; contents.size() < bytes; ++block) {
    contents.append(
        cccl_cache::Sha256(std::to_string(number) + "/" + std::to_string(block)).View());
  }
  contents.resize(bytes);
  const cccl_cache::Digest digest = cccl_cache::Sha256(contents);
  artifact->parts.push_back({cccl_cache::ArtifactKind::kCubin, std::move(contents), digest});
  artifact->log = "log of " + std::to_string(number);
  artifact->compile_time = std::chrono::microseconds(compile_microseconds);
  return artifact;
}

inline bool Same(const Artifact& a, const Artifact& b) {
  if (a.parts.size() != b.parts.size() || a.log != b.log) return false;
  for (size_t i = 0; i < a.parts.size(); ++i) {
    if (a.parts[i].bytes != b.parts[i].bytes || a.parts[i].sha256 != b.parts[i].sha256)
      return false;
  }
  return true;
}

/// The database keeps small artifacts beside their keys, and large ones in blob files.
inline size_t SizeOf(uint64_t number) { return number % 4 == 0 ? 20'000 : 300; }

inline std::unique_ptr<RocksdbStore> OpenOrNull(RocksdbStoreOptions options,
                                                Statistics& statistics) {
  auto store = RocksdbStore::Open(std::move(options), statistics);
  return store ? std::move(*store) : nullptr;
}

inline void Fill(RocksdbStore& store, uint64_t first, uint64_t count) {
  for (uint64_t i = first; i < first + count; ++i) store.Put(Key(i), Numbered(i, SizeOf(i)));
}

struct Survey {
  size_t right = 0;
  size_t missing = 0;
  size_t wrong = 0;
};

inline Survey Look(Tier& tier, uint64_t first, uint64_t count) {
  Survey survey;
  for (uint64_t i = first; i < first + count; ++i) {
    const ArtifactPtr artifact = tier.Get(Key(i));
    if (!artifact) {
      ++survey.missing;
    } else if (Same(*artifact, *Numbered(i, SizeOf(i)))) {
      ++survey.right;
    } else {
      ++survey.wrong;
    }
  }
  return survey;
}

}  // namespace cccl_cache::daemon::store_test
