// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/model/compiler.h"
#include "daemon/core/run/preamble_pool.h"
#include "tests/support/wait_until.h"
#include "tests/unit/core/fake_files.h"
#include "tests/unit/core/fakes.h"

namespace cccl_cache::daemon::testing {

/// A pool with a fake compiler. The name of a job's working directory is the size of its preamble
/// in bytes.
class PreamblePoolScene {
 public:
  explicit PreamblePoolScene(const PreamblePool::Bounds& bounds = {}) {
    compiler.SetPrecompilation(
        [this](const CompileJob& job) -> Result<std::shared_ptr<const Precompiled>> {
          ++parsed;
          NoteSize(job.visible_working_directory);
          {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return open_; });
          }
          for (const std::string& name : asks) {
            if (const auto answer = job.files->Ask(name); !answer) return answer.error();
          }
          if (job.visible_working_directory.empty()) {
            return Error{ErrorCode::kUnavailable, "no"};
          }
          last = std::make_shared<FakePrecompiled>(std::stoull(job.visible_working_directory));
          return std::shared_ptr<const Precompiled>(last);
        });
    pool.emplace(compiler, statistics, CompileLimits{}, bounds);
  }
  ~PreamblePoolScene() { Open(); }

  /// Reports a compile without the preamble `key`. From the second one on, this requests a parse.
  void Miss(const std::string& key, const std::string& bytes = "100", uid_t uid = 1000,
            uint64_t held = 0, std::chrono::microseconds time = {}) {
    pool->Want(cccl_cache::Sha256(key), Account(uid), held, [this, bytes] {
      PreamblePool::Order order;
      order.job.visible_working_directory = bytes;
      order.recorder = std::make_shared<ClosureRecorder>(files.Of({}, {}), ClosureRecorder::Names{},
                                                         ClosureRecorder::Events{});
      order.job.files = order.recorder;
      return order;
    });
    pool->NoteMiss(cccl_cache::Sha256(key), Account(uid), time);
  }
  /// Reports as many compiles without the preamble as are needed to request a parse.
  void Want(const std::string& key, const std::string& bytes = "100", uid_t uid = 1000,
            uint64_t held = 0, std::chrono::microseconds time = {}) {
    for (int i = 0; i < 2; ++i) Miss(key, bytes, uid, held, time);
  }
  /// Requests the preamble "shut in", whose parse blocks until Open(). Returns when the parse has
  /// begun. `time`: duration of a compile without this preamble.
  bool Shut(std::chrono::microseconds time = {}) {
    {
      const std::lock_guard lock(mutex_);
      open_ = false;
    }
    const int before = parsed;
    Want("shut in", "100", 1000, 0, time);
    return WaitUntil([&] { return parsed != before; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  ParsedPreamblePtr Find(const std::string& key) { return pool->Find(cccl_cache::Sha256(key)); }
  /// Returns the sizes of the preambles, in the order of their parses.
  std::vector<std::string> Sizes() {
    const std::lock_guard lock(mutex_);
    return sizes_;
  }
  bool WaitForParsed(uint64_t count) {
    return WaitUntil([&] { return statistics.Get(Counter::kPreambles) >= count; });
  }

  std::atomic<int> parsed{0};
  std::vector<std::string> asks;  ///< the files that each parse asks for
  std::shared_ptr<FakePrecompiled> last;
  FakeFileAccess files;
  FakeCompiler compiler{[](const CompileJob&, int) { return Succeed(""); }};
  Statistics statistics;

 private:
  void NoteSize(const std::string& size) {
    const std::lock_guard lock(mutex_);
    sizes_.push_back(size);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;                // guarded by mutex_
  std::vector<std::string> sizes_;  // guarded by mutex_

 public:
  std::optional<PreamblePool> pool;  ///< last member: its thread uses the others
};

}  // namespace cccl_cache::daemon::testing
