// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "daemon/core/closure/closure.h"
#include "daemon/core/closure/closure_recorder.h"
#include "daemon/core/closure/file_traits.h"
#include "daemon/core/closure/sent_files.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/statistics.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/core/plan/build_plan.h"
#include "daemon/core/run/compile_memory.h"
#include "daemon/core/run/preamble.h"
#include "daemon/core/run/preamble_pool.h"
#include "daemon/system/blocking_pool.h"

namespace cccl_cache::daemon {

/// The purpose of a compile. Statistics count only compiles for callers.
enum class CompilePurpose {
  kCaller,
  kPathSearch,   ///< its output is searched for paths and is no answer
  kShadowCheck,  ///< of a cached entry
  kShadowLink,   ///< of a cached entry, to compare the links of its LTO-IR
};

/// The caller and the purpose of a compile.
struct CompileOrder {
  Caller caller;  ///< its files are read
  /// Called at the first question about a file outside the toolchain, before the answer, on the
  /// thread that answers it. May be empty.
  std::function<void()> first_question = {};
  /// Wraps the caller's files, to observe waits for them. May be empty.
  std::function<std::unique_ptr<RequesterFiles>(std::unique_ptr<RequesterFiles>)> around_files = {};
  CompilePurpose purpose = CompilePurpose::kCaller;
  CompileMemory::Running* memory = nullptr;  ///< null for an idle compile, which waits for memory
  /// Recorded files, used instead of the caller's files. Null: the caller's present files are read.
  AnsweredFilesPtr recalled = nullptr;
};

/// Returns the files of a build with this closure, for a compile without its caller.
[[nodiscard]] AnsweredFilesPtr Recall(const BuildPlan& plan, Closure closure);

/// Runs the compile of a flight, and decides whether and how the result may be cached. Thread-safe.
class CompileRunner {
 public:
  struct Parts {
    Toolchains& toolchains;
    Compiler& compiler;
    FileAccess& files;
    Statistics& statistics;
    PreamblePool* preambles = nullptr;  ///< null for none
    BlockingPool* checks = nullptr;     ///< for looks at the files of preambles; set if `preambles`
                                        ///< is
    BlockingPool* sent_checks = nullptr;  ///< as `checks`, for callers that send their files
    /// Null: no background work for callers that send their files.
    std::shared_ptr<SentContents> sent_contents = nullptr;
    CompileMemory* memory = nullptr;  ///< null: idle compiles start regardless of their need
  };

  /// The parts must outlive the runner.
  CompileRunner(const Parts& parts, const CompileLimits& limits) : parts_(parts), limits_(limits) {}

  /// Blocks until the compile has ended; an idle compile first waits for memory. If a worker dies,
  /// the compile is tried once more in the remaining time, because the machine may have been the
  /// cause.
  [[nodiscard]] FlightResult Run(const BuildPlan& plan, CompileOrder order, std::stop_token stop);

 private:
  /// As Run, without the wait for memory.
  FlightResult RunNow(const BuildPlan& plan, const CompileOrder& order, std::stop_token stop);
  /// Returns whether the program shows paths as text, for outputs that can't be searched. Blocks
  /// for a compile to PTX. True if that fails or reads other files than `closure`.
  bool PtxShowsPaths(const BuildPlan& plan, const CompileOrder& order, const Closure& closure,
                     const std::stop_token& stop);
  struct Attempt {
    Result<CompileOutput> output;
    ClosureRecorder::Record record;
    bool ended_for_paths = false;
    bool blames_input = false;
    /// Whether the searched PTX shows paths as text. None if no PTX was searched.
    std::optional<bool> ptx_shows_paths = std::nullopt;
  };
  /// Returns whether the compile of a program to PTX shows its paths as text, and counts the
  /// compile. None if it failed or read other files than `closure`.
  std::optional<bool> ShowsPaths(const BuildPlan& ptx, const Attempt& attempt,
                                 const Closure& closure);
  Attempt CompileWithRetry(const BuildPlan& plan, const CompileOrder& order, std::stop_token stop);
  Attempt CompileOnce(const BuildPlan& plan, const CompileOrder& order, const CompileLimits& limits,
                      std::stop_token stop);
  Attempt CompileAll(const BuildPlan& plan, const CompileOrder& order, const CompileLimits& limits,
                     std::stop_token stop);
  /// A parsed preamble with which a program may begin.
  struct FoundPreamble {
    Digest key;
    ParsedPreamblePtr parsed;  ///< null if there is none
    bool untrue = false;       ///< whether the caller's files differ from the parsed files
  };
  /// Waits for a preamble in the parser if the wait is expected to save time.
  FoundPreamble FindPreamble(const BuildPlan& plan, const CompileOrder& order,
                             const Preamble& preamble, const CompileLimits& limits,
                             const std::stop_token& stop);
  /// Compiles the rest of the program after the preamble. Returns none if that is impossible or
  /// failed. For LTO-IR, first compiles to PTX and searches that for names that a preamble may
  /// change.
  std::optional<Attempt> CompileRest(const BuildPlan& plan, const CompileOrder& order,
                                     FoundPreamble* preamble, const CompileLimits& limits,
                                     std::stop_token stop);
  /// A job of the plan, with the files that it reads.
  struct Prepared {
    CompileJob job;
    std::shared_ptr<ClosureRecorder> recorder;
    std::shared_ptr<std::atomic<bool>> ended_for_paths;
  };
  Prepared Prepare(const BuildPlan& plan, const CompileOrder& order);
  [[nodiscard]] bool HasPreambles(const BuildPlan& plan, const CompileOrder& order) const;
  static Attempt Ended(const Prepared& prepared, Result<CompileOutput> output);
  /// `key` is one of the preamble's keys. `files` as in CompileOrder::recalled.
  void WantPreamble(const BuildPlan& plan, const Peer& peer, const Preamble& preamble,
                    const Digest& key, AnsweredFilesPtr files);
  /// Records that the whole program was compiled in this time, because the found preamble was of no
  /// use.
  void NoteMiss(const BuildPlan& plan, const CompileOrder& order, const Preamble& preamble,
                const FoundPreamble& found, const Attempt& attempt, std::chrono::microseconds time);
  void Judge(const BuildPlan& plan, Attempt attempt, FlightResult* flight_result);
  void CountJob(CompilePurpose purpose, bool given_up, std::chrono::microseconds time);
  void Count(const Result<CompileOutput>& output);

  const Parts parts_;
  const CompileLimits limits_;
  // Shared with recorders, which may outlive their compiles if a disk hangs.
  const std::shared_ptr<KnownFileTraits> known_traits_ =
      std::make_shared<KnownFileTraits>(std::chrono::steady_clock::now);
};

/// Returns the result of ClosureRecorder::Adopt for the record of this preamble, from a thread that
/// looks at this user's files. None if the result came too late, or the daemon stops. The recorder
/// can't be used after that.
[[nodiscard]] std::optional<Result<bool>> RevalidateClosure(
    BlockingPool& checks, Account account, const std::shared_ptr<ClosureRecorder>& recorder,
    const ParsedPreamblePtr& parsed, const std::stop_token& stop);

}  // namespace cccl_cache::daemon
