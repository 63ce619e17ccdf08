// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/peer.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/plan/build_plan.h"
#include "daemon/core/run/compile_runner.h"

namespace cccl_cache::daemon {

/// Compiles that nobody waits for, done on slots that callers leave free, for each user in turn.
/// One that is in a caller's way is stopped, and begins again later. Thread-safe.
class IdleJobs {
 public:
  struct Bounds {
    size_t slots = 1;  ///< of callers and jobs together
    size_t waiting_per_uid = 64;
    size_t bytes_per_uid = 32 << 20;
    size_t waiting = 256;
  };
  /// Runs again, from its beginning, if it was stopped for a caller.
  using Job = std::function<void(std::stop_token stop)>;

  /// `busy`: how many compiles of callers run or wait now; asked again some times a second.
  IdleJobs(const Bounds& bounds, std::function<size_t()> busy);
  ~IdleJobs() { Stop(); }
  IdleJobs(const IdleJobs&) = delete;
  IdleJobs& operator=(const IdleJobs&) = delete;

  /// `bytes`: what the job keeps in memory. False: too much waits, of this user or of all, and the
  /// job was dropped.
  bool Add(Account account, size_t bytes, Job job);

  /// Stops jobs on slots that callers want now.
  void MakeRoom();

  /// Stops what runs, drops what waits, and asks no more how many callers there are.
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
  // Those below require the lock on mutex_. Of the user whose turn it is; a job must wait.
  Waiting TakeNext();
  void PutBack(Waiting job);
  bool HasRoom() const { return running_.size() + busy_() < bounds_.slots; }

  const Bounds bounds_;
  const std::function<size_t()> busy_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<Account, User> users_;        // guarded by mutex_; those with jobs
  size_t waiting_ = 0;                   // guarded by mutex_
  Account served_{0};                    // guarded by mutex_: whose job was taken last
  std::list<std::stop_source> running_;  // guarded by mutex_; the newest last
  std::vector<std::jthread> threads_;    // last: end before what they use
};

/// Compiles a sample of the hits again, when nobody waits for a compile, and compares the bytes. An
/// entry that differs was wrong, or its compiler is not deterministic: it is dropped, counted and
/// reported with both digests. Thread-safe.
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
    const Peer& peer;  ///< to whom
    const FlightResult& flight_result;
    const Closure& closure;  ///< that it was made of
    bool files_were_sent;    ///< by the peer: they are taken to be what they were
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

/// Whether the output of a program over headers that name __FILE__ or its kin shows paths is found
/// by compiling it under the real ones and under canonical names. Where these have another length
/// and other letters, equal bytes prove that they do not show.
struct PathProof {
  std::shared_ptr<const BuildPlan> real;
  std::shared_ptr<const BuildPlan> canonical;
  Caller caller;
  /// Of the real plan. Null: not compiled yet, as its artifact would name paths without meaning.
  ArtifactPtr artifact;
  Closure closure;  ///< that the artifact was made of
  /// The caller's files are taken to be what they were; null: what they are now.
  AnsweredFilesPtr recalled;
};

/// Whether the plan's artifact names paths anyway, without meaning: LTO-IR and OptiX-IR.
[[nodiscard]] bool NamesPathsAnyway(const BuildPlan& plan);

enum class PathVerdict { kUnknown, kShown, kNotShown };

struct PathFinding {
  PathVerdict verdict = PathVerdict::kUnknown;
  FlightResult
      canonical;  ///< what was compiled under canonical names; may be kept if nothing shows
};

/// Blocks for one compile; for three where the artifact names paths anyway: there the PTX of the
/// same program decides. `purpose`: of the compile under canonical names.
[[nodiscard]] PathFinding RunPathProof(const PathProof& proof, CompilePurpose purpose,
                                       CompileRunner& runner, const std::stop_token& stop);

/// Proofs that were not made yet, or are being made with nobody waiting. Thread-safe.
class OpenProofs {
 public:
  struct Open {
    PathProof proof;
    std::stop_source taken;  ///< another thread makes it
  };

  /// Null: this user's same program has one.
  std::shared_ptr<Open> Add(PathProof proof);
  /// The one of this user's same program in any directory, to be made now by whoever takes it.
  /// Null: it has none.
  std::shared_ptr<Open> Take(const BuildPlan& canonical, uid_t uid);
  /// It was made, or nobody will.
  void Remove(const std::shared_ptr<Open>& open);

 private:
  std::mutex mutex_;
  std::map<std::pair<uid_t, Digest>, std::shared_ptr<Open>>
      open_;  // guarded by mutex_: by the fingerprint under canonical names
};

}  // namespace cccl_cache::daemon
