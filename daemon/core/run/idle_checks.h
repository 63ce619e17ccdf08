// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/plan/build_plan.h"
#include "daemon/core/run/compile_runner.h"

namespace cccl_cache::daemon {

/// Compiles without a waiting caller, run on free slots, users in turn. When a caller needs the
/// slot, the job is stopped and later starts again. Thread-safe.
class IdleJobs {
 public:
  struct Bounds {
    size_t slots = 1;  ///< shared by callers and jobs
    size_t waiting_per_uid = 64;
    size_t bytes_per_uid = 32 << 20;
    size_t waiting = 256;
  };
  /// Runs again from its beginning if it was stopped for a caller.
  using Job = std::function<void(std::stop_token stop)>;

  /// `busy` returns the number of slots that callers need now, or all slots if they need memory. It
  /// is called several times a second.
  IdleJobs(const Bounds& bounds, std::function<size_t()> busy);
  ~IdleJobs() { Stop(); }
  IdleJobs(const IdleJobs&) = delete;
  IdleJobs& operator=(const IdleJobs&) = delete;

  /// `bytes` is the memory of the job. Returns false, and drops the job, if too many jobs of this
  /// user or of all users wait.
  bool Add(Account account, size_t bytes, Job job);

  /// Stops jobs whose slots callers need now.
  void MakeRoom();

  /// Returns the number of waiting and running jobs.
  [[nodiscard]] size_t size() const {
    const MutexLock lock(mutex_);
    return waiting_.in_all + running_.size();
  }

  /// Stops running jobs and drops waiting jobs. `busy` is not called after that.
  void Stop();

 private:
  struct Waiting {
    Account account;
    size_t bytes;
    Job job;
  };
  struct User {
    std::deque<Waiting> jobs;
    size_t bytes = 0;
  };

  void Work(std::stop_token stop);
  // Returns a job of the user whose turn it is. At least one job must wait.
  Waiting TakeNext() REQUIRES(mutex_);
  void PutBack(Waiting job) REQUIRES(mutex_);
  bool HasRoom() const REQUIRES(mutex_) { return running_.size() + busy_() < bounds_.slots; }

  const Bounds bounds_;
  const std::function<size_t()> busy_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<Account, User> users_ GUARDED_BY(mutex_);  // users that have jobs
  HeldInAll waiting_ GUARDED_BY(mutex_);
  Account served_ GUARDED_BY(mutex_) = Account(0);          // the account of the last job
  std::list<std::stop_source> running_ GUARDED_BY(mutex_);  // the newest job last
  std::vector<std::jthread> threads_;                       // last member, so that they end first
};

/// Compiles a sample of the hits again on idle slots, and compares the bytes. If LTO-IR from a
/// precompiled header has other bytes, both versions are linked alone to PTX, and the PTX is
/// compared. If the entry differs, it was wrong or its compiler is not deterministic: it is
/// dropped, counted and reported with both digests. Thread-safe.
class ShadowChecks {
 public:
  struct Parts {
    BuildCache& cache;
    CompileRunner& runner;
    IdleJobs& idle_jobs;
    Statistics& statistics;
    std::function<void(std::string_view)> report;  ///< may be empty
  };

  /// One of `every` hits is checked; 0 for none. The parts must outlive the running jobs.
  ShadowChecks(Parts parts, uint64_t every) : parts_(std::move(parts)), every_(every) {}

  /// A hit that is answered now.
  struct Hit {
    std::shared_ptr<const BuildPlan> plan;
    const Peer& peer;  ///< the caller
    const FlightResult& flight_result;
    const Closure& closure;  ///< of the hit
    bool files_were_sent;    ///< by the peer; the check then uses the sent files
  };
  void Consider(const Hit& hit);

 private:
  /// A hit after its answer.
  struct Sample {
    std::shared_ptr<const BuildPlan> plan;
    Peer peer;
    FlightResult flight_result;
    AnsweredFilesPtr answered;
    bool files_were_sent;
  };
  void Check(const Sample& sample, std::stop_token stop);
  /// Returns the differences, for a person. Empty if there is none, or if it can't be determined
  /// now.
  [[nodiscard]] std::string DifferenceOf(const Sample& sample, const Artifact& again,
                                         const CompileOrder& order, const std::stop_token& stop);
  /// Returns whether nvJitLink makes the same PTX from both. Also true if the toolchain has no
  /// nvJitLink, or the link ended early. False if nvJitLink refuses one of them.
  [[nodiscard]] bool LinkAlike(const BuildPlan& plan, const ArtifactPart& kept,
                               const ArtifactPart& again, CompileOrder order,
                               const std::stop_token& stop);

  const Parts parts_;
  const uint64_t every_;
  std::atomic<uint64_t> hits_{0};
};

}  // namespace cccl_cache::daemon
