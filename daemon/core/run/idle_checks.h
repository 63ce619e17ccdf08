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

/// Compiles that no caller waits for, run on slots that callers leave free, users in turn. A job
/// that is in a caller's way is stopped and begins again later. Thread-safe.
class IdleJobs {
 public:
  struct Bounds {
    size_t slots = 1;  ///< shared by callers and jobs
    size_t waiting_per_uid = 64;
    size_t bytes_per_uid = 32 << 20;
    size_t waiting = 256;
  };
  /// Runs again, from its beginning, if it was stopped for a caller.
  using Job = std::function<void(std::stop_token stop)>;

  /// `busy` returns how many slots callers want now, all if they want memory; called several times
  /// a second.
  IdleJobs(const Bounds& bounds, std::function<size_t()> busy);
  ~IdleJobs() { Stop(); }
  IdleJobs(const IdleJobs&) = delete;
  IdleJobs& operator=(const IdleJobs&) = delete;

  /// `bytes`: memory that the job holds. Returns false, and drops the job, if too much waits, of
  /// this user or of all users.
  bool Add(Account account, size_t bytes, Job job);

  /// Stops jobs in the way of what callers want now.
  void MakeRoom();

  /// Takes a slot that callers leave free, for a part of a caller's compile. Returns false if there
  /// is none. After true, LeaveSlot must be called.
  [[nodiscard]] bool TakeSlot();
  void LeaveSlot();

  /// Returns how many jobs wait or run.
  [[nodiscard]] size_t size() const {
    const MutexLock lock(mutex_);
    return waiting_.in_all + running_.size();
  }

  /// Stops running jobs and drops waiting ones. After it only TakeSlot calls `busy`.
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
  // Returns a job of the user whose turn it is; at least one must wait.
  Waiting TakeNext() REQUIRES(mutex_);
  void PutBack(Waiting job) REQUIRES(mutex_);
  bool HasRoom() const REQUIRES(mutex_) {
    return running_.size() + taken_ + busy_() < bounds_.slots;
  }

  const Bounds bounds_;
  const std::function<size_t()> busy_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<Account, User> users_ GUARDED_BY(mutex_);  // those that have jobs
  HeldInAll waiting_ GUARDED_BY(mutex_);
  size_t taken_ GUARDED_BY(mutex_) = 0;                     // slots
  Account served_ GUARDED_BY(mutex_) = Account(0);          // whose job was taken last
  std::list<std::stop_source> running_ GUARDED_BY(mutex_);  // the newest last
  std::vector<std::jthread> threads_;                       // last: end before what they use
};

/// Compiles a sample of the hits again while no caller waits for a compile, and compares the bytes.
/// An entry that differs was wrong, or its compiler is not deterministic: it is dropped, counted
/// and reported with both digests. Thread-safe.
class ShadowChecks {
 public:
  struct Parts {
    BuildCache& cache;
    CompileRunner& runner;
    IdleJobs& idle_jobs;
    Statistics& statistics;
    std::function<void(std::string_view)> report;  ///< may be empty
  };

  /// One hit of `every` is checked; 0: none. The parts must outlive the jobs that run.
  ShadowChecks(Parts parts, uint64_t every) : parts_(std::move(parts)), every_(every) {}

  /// A hit that is being answered.
  struct Hit {
    std::shared_ptr<const BuildPlan> plan;
    const Peer& peer;  ///< the caller that is answered
    const FlightResult& flight_result;
    const Closure& closure;  ///< what the hit was made of
    bool files_were_sent;    ///< by the peer: the check takes them to be what they were
  };
  void Consider(const Hit& hit);

 private:
  /// A hit once it has been answered.
  struct Sample {
    std::shared_ptr<const BuildPlan> plan;
    Peer peer;
    FlightResult flight_result;
    AnsweredFilesPtr answered;
    bool files_were_sent;
  };
  void Check(const Sample& sample, std::stop_token stop);

  const Parts parts_;
  const uint64_t every_;
  std::atomic<uint64_t> hits_{0};
};

/// A proof whether the output of a program shows paths, if its headers name __FILE__ or the like.
/// The program is compiled under the real names and under canonical ones, which have another length
/// and other letters. Equal bytes prove that no path shows.
struct PathProof {
  std::shared_ptr<const BuildPlan> real;
  std::shared_ptr<const BuildPlan> canonical;
  Caller caller;
  /// Artifact of the real plan. Null: not compiled yet, as it would name paths without meaning.
  ArtifactPtr artifact;
  Closure closure;  ///< what the artifact was made of
  /// Recorded files, used instead of the caller's; null: the caller's are read as they are now.
  AnsweredFilesPtr recalled;
};

/// Returns whether the plan's artifact names paths anyway, without meaning: LTO-IR and OptiX-IR.
[[nodiscard]] bool NamesPathsAnyway(const BuildPlan& plan);

enum class PathVerdict { kUnknown, kShown, kNotShown };

struct PathFinding {
  PathVerdict verdict = PathVerdict::kUnknown;
  FlightResult
      canonical;  ///< what was compiled under canonical names; may be kept if no path shows
};

/// Blocks for one compile, or for three if the artifact names paths anyway: then the PTX of the
/// same program decides. They run side by side on slots that `idle_jobs` leaves free. `purpose`:
/// that of the compile under canonical names.
[[nodiscard]] PathFinding RunPathProof(const PathProof& proof, CompilePurpose purpose,
                                       CompileRunner& runner, IdleJobs& idle_jobs,
                                       const std::stop_token& stop);

/// Proofs that were not made yet, or that are made while no caller waits. Thread-safe.
class OpenProofs {
 public:
  struct Open {
    PathProof proof;
    std::stop_source taken;  ///< requested once another thread makes it
  };

  /// Returns null if there is one of this user's same program already.
  std::shared_ptr<Open> Add(PathProof proof);
  /// Takes the proof of this user's same program in any directory; the caller makes it now. Returns
  /// null if there is none.
  std::shared_ptr<Open> Take(const BuildPlan& canonical, uid_t uid);
  /// Removes a proof that was made or will not be made.
  void Remove(const std::shared_ptr<Open>& open);

 private:
  Mutex mutex_;
  std::map<std::pair<uid_t, Digest>, std::shared_ptr<Open>> open_
      GUARDED_BY(mutex_);  // by the fingerprint under canonical names
};

}  // namespace cccl_cache::daemon
