// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/core/job_files.h"
#include "daemon/core/preamble_pool.h"
#include "tests/unit/core/fake_files.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cached::testing {

/// A pool over a compiler that makes a preamble of as many bytes as its working directory says.
class PreamblePoolScene {
 public:
  explicit PreamblePoolScene(const PreamblePool::Bounds& bounds = {}) {
    compiler.SetPrecompilation(
        [this](const CompileJob& job) -> Result<std::shared_ptr<const Precompiled>> {
          ++parsed;
          sizes.push_back(job.visible_working_directory);
          for (const std::string& name : asks) {
            if (const auto answer = job.files->Ask(name); !answer) return answer.error();
          }
          if (job.visible_working_directory.empty()) {
            return Error{ErrorCode::kUnavailable, "no"};
          }
          last = std::make_shared<FakePrecompiled>(std::stoull(job.visible_working_directory));
          return std::shared_ptr<const Precompiled>(last);
        });
    pool.emplace(compiler, statistics, CompileLimits{}, bounds, [this] { return idle.load(); });
  }

  void Want(const std::string& key, const std::string& bytes = "100", uid_t uid = 1000,
            uint64_t held = 0) {
    pool->Want(cccl_cache::Sha256(key), uid, held, [this, bytes] {
      PreamblePool::Order order;
      order.job.visible_working_directory = bytes;
      order.recorder = std::make_shared<ClosureRecorder>(
          files.Of({}, {}), std::vector<VisibleRoot>{}, ClosureRecorder::Events{});
      order.job.files = order.recorder;
      return order;
    });
  }
  ParsedPreamblePtr Find(const std::string& key) { return pool->Find(cccl_cache::Sha256(key)); }
  /// Waits until so many have been parsed, and kept if they are.
  bool WaitForParsed(uint64_t count) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (statistics.Get(Counter::kPreambles) < count) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::atomic<bool> idle{true};
  std::atomic<int> parsed{0};
  std::vector<std::string> asks;   ///< the files that each asks for
  std::vector<std::string> sizes;  ///< the bytes of each
  std::shared_ptr<FakePrecompiled> last;
  FakeFileAccess files;
  FakeCompiler compiler{[](const CompileJob&, int) { return Succeed(""); }};
  Statistics statistics;
  std::optional<PreamblePool> pool;
};

}  // namespace cccl_cached::testing
