// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "daemon/core/closure/sent_files.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/model/tier.h"
#include "tests/unit/core/fake_files.h"
#include "tests/unit/core/fake_private_entries.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::testing {

inline constexpr uid_t kOwnUid = 900;
inline const Peer kAlice{1000, 1000, {}, 1};
inline const Peer kBob{1001, 1001, {}, 2};
inline const Peer kOwner{kOwnUid, 900, {}, 3};

/// A coordinator with fakes as its parts. It is destroyed before them.
struct CoordinatorBench {
  struct Options {
    size_t slots = 2;
    size_t queued_per_uid = 4;
    std::chrono::milliseconds time = std::chrono::minutes(2);
    std::chrono::milliseconds disk_patience = std::chrono::minutes(2);
    uint64_t shadow_check_every = 0;
    AnsweredBuilds* answered = nullptr;
    Cluster* cluster = nullptr;
    /// The tier below memory. The default makes no caller wait: all work before a compile is done
    /// when Start() returns.
    TierName second_tier = TierName::kArena;
  };

  explicit CoordinatorBench(FakeCompiler::Behaviour behaviour)
      : CoordinatorBench(std::move(behaviour), Options{}) {}
  CoordinatorBench(FakeCompiler::Behaviour behaviour, const Options& options);

  /// Runs a build that must be answered.
  BuildAnswer BuildOne(const std::string& source, const Peer& peer = kAlice);
  Result<BuildAnswer> Ask(std::shared_ptr<cccl_cache::BuildRequest> request,
                          const Peer& peer = kAlice);
  [[nodiscard]] uint64_t Count(Counter counter) const { return statistics.Get(counter); }
  /// Returns when all background work has ended.
  void Stop() { coordinator.reset(); }

  FakeToolchains toolchains;
  FakeCompiler compiler;
  FakeFileAccess files;
  MapTier memory{TierName::kMemory};
  MapTier disk;
  Statistics statistics;
  EvictionLog eviction_log;
  FakePrivateEntries own;
  /// Added to the time in the clock of `sent`.
  std::atomic<std::chrono::minutes> later{std::chrono::minutes(0)};
  const std::shared_ptr<SentContents> sent = std::make_shared<SentContents>(
      [this] { return std::chrono::steady_clock::now() + later.load(); });
  std::string reported;  ///< to be read after Stop
  std::unique_ptr<BuildCoordinator> coordinator;
};

/// Compiles a source to itself.
Result<CompileOutput> SourceAsOutput(const CompileJob& job, int call);

/// Compiles a program that includes "local.h" beside it. The output is "from " and the header's
/// text, or "nothing" if there is no such header.
Result<CompileOutput> IncludesLocal(const CompileJob& job, int call);

std::string TextOf(const BuildAnswer& answer);

/// Returns MakeRequest("a") with this working directory.
std::shared_ptr<cccl_cache::BuildRequest> RequestIn(const std::string& directory);

}  // namespace cccl_cache::daemon::testing
