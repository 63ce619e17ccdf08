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

/// Runs compiles for which no caller waits on free slots. The users take turns. When a caller needs
/// the slot, the job is stopped and later starts again. Thread-safe.
class IdleJobs {
 public:
  struct Bounds {
    size_t slots = 1;  ///< maximum number of compiles at once, of callers and jobs together
    size_t waiting_per_uid = 64;
    size_t bytes_per_uid = 32 << 20;
    size_t waiting = 256;
  };
  /// A job. If it was stopped for a caller, it later runs again from its beginning.
  using Job = std::function<void(std::stop_token stop)>;

  /// `busy` returns the number of slots that callers need now. If callers wait for memory, it
  /// returns the number of all slots. It is called several times a second, with a lock held.
  IdleJobs(const Bounds& bounds, std::function<size_t()> busy);
  ~IdleJobs() { Stop(); }
  IdleJobs(const IdleJobs&) = delete;
  IdleJobs& operator=(const IdleJobs&) = delete;

  /// `bytes` is the memory of the job. Returns false, and drops the job, if this user or all users
  /// have too many waiting jobs, or if this user's jobs need too much memory.
  bool Add(Account account, size_t bytes, Job job);

  /// Stops as many jobs as callers need slots now.
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
  // Returns the next job of the user whose turn it is. At least one job must be waiting.
  Waiting TakeNext() REQUIRES(mutex_);
  void PutBack(Waiting job) REQUIRES(mutex_);
  bool HasRoom() const REQUIRES(mutex_) { return running_.size() + busy_() < bounds_.slots; }

  const Bounds bounds_;
  const std::function<size_t()> busy_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<Account, User> users_ GUARDED_BY(mutex_);  // users with waiting jobs
  HeldInAll waiting_ GUARDED_BY(mutex_);
  Account served_ GUARDED_BY(mutex_) = Account(0);          // the account of the job that was
                                                            // started last
  std::list<std::stop_source> running_ GUARDED_BY(mutex_);  // the newest job last
  std::vector<std::jthread> threads_;                       // last member: they end before the
                                                            // others are destroyed
};

/// Compiles a sample of the hits again on idle slots, and compares the output with the entry.
/// LTO-IR that was made with a precompiled header may have other bytes. Then each version is linked
/// to PTX, without other inputs, and the PTX is compared. If the outputs differ, the entry was
/// wrong or the compiler is not deterministic: the entry is dropped and counted, and both digests
/// are reported. Thread-safe.
class ShadowChecks {
 public:
  struct Parts {
    BuildCache& cache;
    CompileRunner& runner;
    IdleJobs& idle_jobs;
    Statistics& statistics;
    std::function<void(std::string_view)> report;  ///< may be empty
  };

  /// Checks one of `every` hits; 0: no hit is checked. The parts must outlive the running jobs.
  ShadowChecks(Parts parts, uint64_t every) : parts_(std::move(parts)), every_(every) {}

  /// A hit that is answered now.
  struct Hit {
    std::shared_ptr<const BuildPlan> plan;
    const Peer& peer;  ///< the caller
    const FlightResult& flight_result;
    const Closure& closure;  ///< the files that the caller's build depends on
    bool files_were_sent;    ///< whether the caller sent its files; the check then uses the sent
                             ///< files
  };
  void Consider(const Hit& hit);

 private:
  /// The data of a hit that its check needs after the hit was answered.
  struct Sample {
    std::shared_ptr<const BuildPlan> plan;
    Peer peer;
    FlightResult flight_result;
    AnsweredFilesPtr answered;
    bool files_were_sent;
  };
  void Check(const Sample& sample, std::stop_token stop);
  /// Returns a description of the difference, for the operator. Empty if there is no difference, or
  /// if the outputs can't be compared now.
  [[nodiscard]] std::string DifferenceOf(const Sample& sample, const Artifact& again,
                                         const CompileOrder& order, const std::stop_token& stop);
  /// Returns whether nvJitLink makes the same PTX from both versions of the LTO-IR. Also true if
  /// that is unknown, because the toolchain has no nvJitLink or a link did not finish. False if
  /// nvJitLink refuses one version.
  [[nodiscard]] bool LinkAlike(const BuildPlan& plan, const ArtifactPart& kept,
                               const ArtifactPart& again, CompileOrder order,
                               const std::stop_token& stop);

  const Parts parts_;
  const uint64_t every_;
  std::atomic<uint64_t> hits_{0};
};

}  // namespace cccl_cache::daemon
