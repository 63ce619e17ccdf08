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
  kPathSearch,   ///< a second compile, whose output is only searched for paths
  kShadowCheck,  ///< an idle compile that checks a cached entry
  kShadowLink,   ///< an idle link of the LTO-IR of a cached entry, for a comparison
};

/// The caller and the purpose of a compile.
struct CompileOrder {
  Caller caller;  ///< the compile reads this caller's files
  /// Called when the compiler first asks for a file outside the toolchain, before the answer, on
  /// the thread that answers. May be empty.
  std::function<void()> first_question = {};
  /// Wraps the caller's files, so that the wrapper can observe how long the compile waits for them.
  /// May be empty.
  std::function<std::unique_ptr<RequesterFiles>(std::unique_ptr<RequesterFiles>)> around_files = {};
  CompilePurpose purpose = CompilePurpose::kCaller;
  CompileMemory::Running* memory = nullptr;  ///< null for an idle compile, for which Run waits for
                                             ///< memory
  /// Files recorded by an earlier build, which are used instead of the caller's files. Null: the
  /// caller's present files are read.
  AnsweredFilesPtr recalled = nullptr;
};

/// Returns the files that a build with this closure has read, as recorded. An idle compile can use
/// them when the caller is gone.
[[nodiscard]] AnsweredFilesPtr Recall(const BuildPlan& plan, Closure closure);

/// Runs the compile of a flight (one compile that may answer several equal builds). Decides whether
/// the result may be cached, and under which conditions. Thread-safe.
class CompileRunner {
 public:
  struct Parts {
    Toolchains& toolchains;
    Compiler& compiler;
    FileAccess& files;
    Statistics& statistics;
    PreamblePool* preambles = nullptr;    ///< null: no precompiled headers are used
    BlockingPool* checks = nullptr;       ///< threads that compare the files of preambles; not null
                                          ///< if `preambles` is set
    BlockingPool* sent_checks = nullptr;  ///< like `checks`, for callers that send their files
    /// Contents that callers have sent. Null: callers that send their files get no background
    /// compiles.
    std::shared_ptr<SentContents> sent_contents = nullptr;
    CompileMemory* memory = nullptr;  ///< null: idle compiles start without regard to memory
  };

  /// The parts must outlive the runner.
  CompileRunner(const Parts& parts, const CompileLimits& limits) : parts_(parts), limits_(limits) {}

  /// Blocks until the compile has ended; an idle compile first waits for memory. If a worker dies,
  /// the compile is tried once more in the remaining time, because the machine may have been the
  /// cause.
  [[nodiscard]] FlightResult Run(const BuildPlan& plan, CompileOrder order, std::stop_token stop);

 private:
  /// As Run, but an idle compile does not wait for memory.
  FlightResult RunNow(const BuildPlan& plan, const CompileOrder& order, std::stop_token stop);
  /// Returns whether the program shows paths as text. Used for LTO-IR and OptiX-IR, which can't be
  /// searched. Blocks while the program is compiled to PTX. Also true if that compile fails or
  /// reads other files than `closure`.
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
  /// Returns whether the PTX of a program shows the program's paths as text. Counts the compile in
  /// the statistics. None if the compile failed or read other files than `closure`.
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
    ParsedPreamblePtr parsed;  ///< null if no preamble was found
    bool untrue = false;       ///< whether the caller's files differ from the parsed files
  };
  /// Returns a preamble with which the program begins. If the preamble is being parsed, waits for
  /// it as long as that is expected to save time.
  FoundPreamble FindPreamble(const BuildPlan& plan, const CompileOrder& order,
                             const Preamble& preamble, const CompileLimits& limits,
                             const std::stop_token& stop);
  /// Compiles only the rest of the program, after the preamble. Returns none if that is impossible
  /// or failed. For LTO-IR, also compiles to PTX, and searches the PTX for paths and for names that
  /// a preamble may change.
  std::optional<Attempt> CompileRest(const BuildPlan& plan, const CompileOrder& order,
                                     FoundPreamble* preamble, const CompileLimits& limits,
                                     std::stop_token stop);
  /// A job of the plan, with the recorder that answers its questions about files.
  struct Prepared {
    CompileJob job;
    std::shared_ptr<ClosureRecorder> recorder;
    std::shared_ptr<std::atomic<bool>> ended_for_paths;
  };
  Prepared Prepare(const BuildPlan& plan, const CompileOrder& order);
  [[nodiscard]] bool HasPreambles(const BuildPlan& plan, const CompileOrder& order) const;
  static Attempt Ended(const Prepared& prepared, Result<CompileOutput> output);
  /// Requests the parse of a preamble. `key` is one of the two keys of the preamble. `files` is as
  /// for CompileOrder::recalled.
  void WantPreamble(const BuildPlan& plan, const Peer& peer, const Preamble& preamble,
                    const Digest& key, AnsweredFilesPtr files);
  /// Records a compile of the whole program that took this time, because no preamble was found or
  /// the found preamble could not be used.
  void NoteMiss(const BuildPlan& plan, const CompileOrder& order, const Preamble& preamble,
                const FoundPreamble& found, const Attempt& attempt, std::chrono::microseconds time);
  void Judge(const BuildPlan& plan, Attempt attempt, FlightResult* flight_result);
  void CountJob(CompilePurpose purpose, bool given_up, std::chrono::microseconds time);
  void Count(const Result<CompileOutput>& output);

  const Parts parts_;
  const CompileLimits limits_;
  // Shared with the recorders of compiles. A recorder may outlive its compile if a disk hangs.
  const std::shared_ptr<KnownFileTraits> known_traits_ =
      std::make_shared<KnownFileTraits>(std::chrono::steady_clock::now);
};

/// Compares the caller's files with the record of this preamble (ClosureRecorder::Adopt), on a
/// thread of `checks`. Returns the result of the comparison. None if the result came too late, or
/// the daemon stops; the recorder can't be used after that.
[[nodiscard]] std::optional<Result<bool>> RevalidateClosure(
    BlockingPool& checks, Account account, const std::shared_ptr<ClosureRecorder>& recorder,
    const ParsedPreamblePtr& parsed, const std::stop_token& stop);

}  // namespace cccl_cache::daemon
