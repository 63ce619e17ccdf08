// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/compile_runner.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "daemon/core/model/toolchain_places.h"
#include "daemon/core/plan/roots.h"

namespace cccl_cache::daemon {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns whether the preamble may have caused the error. Timeouts and missing files have other
/// causes.
bool IsOfPreamble(const Error& error) {
  return error.code == ErrorCode::kWorkerCrashed || error.code == ErrorCode::kOutOfMemory ||
         error.useless_precompiled;
}

std::unique_ptr<RequesterFiles> OpenFilesOf(const CompileOrder& order,
                                            const RootDirectories& directories, FileAccess& access,
                                            const std::shared_ptr<SentContents>& sent) {
  if (order.recalled == nullptr) {
    auto files = OpenFiles(access, order.caller, directories);
    return order.around_files ? order.around_files(std::move(files)) : std::move(files);
  }
  const Peer& peer = order.caller.peer;
  return WithToolchain(std::make_unique<RecalledFiles>(
                           order.recalled, directories,
                           RecalledFiles::Sources{peer.uid, sent, access.Of(peer, directories)}),
                       directories.toolchain);
}

ClosureRecorder::Names NamesOf(const BuildPlan& plan) {
  return {plan.visible_roots, {plan.job.toolchain, plan.job.mounts}};
}

bool IsIdle(CompilePurpose purpose) {
  return purpose == CompilePurpose::kShadowCheck || purpose == CompilePurpose::kShadowLink;
}

/// Maximum time to compare the files of a preamble with the caller's. If their digests are known,
/// the comparison of thousands of files takes far less. A parse of the files takes no longer than
/// this.
constexpr std::chrono::milliseconds kPatience{1'000};

/// Passes the result of a comparison to a thread that waits for it. That thread may stop waiting
/// before the result is there. Thread-safe.
class Finding {
 public:
  void Put(Result<bool> result) {
    const MutexLock lock(mutex_);
    result_ = std::move(result);
    changed_.NotifyAll();
  }
  std::optional<Result<bool>> Wait(const std::stop_token& stop) {
    const MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, stop, kPatience,
                     [this]() REQUIRES(mutex_) { return result_.has_value(); });
    return result_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::optional<Result<bool>> result_ GUARDED_BY(mutex_);
};

/// Returns whether the closure contains files of the toolchain. The daemon does not scan these
/// files for uses of paths, so it must assume that they put a path into the output as text.
bool LooksInToolchain(const Closure& closure) {
  return std::ranges::any_of(closure.entries, [](const ClosureEntry& entry) {
    return entry.kind == FileKind::kToolchain;
  });
}

/// Returns the plan to compile the same program to PTX instead of other outputs.
BuildPlan ToPtx(BuildPlan plan) {
  plan.job.options = OptionsToPtx(std::move(plan.job.options));
  return plan;
}

/// Returns the order for a second compile of the same build, whose output is only searched for
/// paths.
CompileOrder ToSearch(CompileOrder order) {
  order.purpose = CompilePurpose::kPathSearch;
  order.first_question = nullptr;
  return order;
}

/// Returns the artifact with its LTO-IR marked as made with a precompiled header.
ArtifactPtr MadeWithPreamble(const Artifact& artifact) {
  auto marked = std::make_shared<Artifact>(artifact);
  for (ArtifactPart& part : marked->parts) part.precompiled = part.kind == ArtifactKind::kLtoIr;
  return marked;
}

}  // namespace

AnsweredFilesPtr Recall(const BuildPlan& plan, Closure closure) {
  return std::make_shared<const AnsweredFiles>(AnsweredFiles{plan.directories, std::move(closure)});
}

FlightResult CompileRunner::Run(const BuildPlan& plan, CompileOrder order, std::stop_token stop) {
  CompileMemory::RunningPtr idle;
  if (IsIdle(order.purpose) && parts_.memory != nullptr) {
    const Account account = order.caller.peer.account();
    idle = parts_.memory->StartIdle(CompileMemory::KindOf(plan.job, account), stop);
    if (idle == nullptr) {
      FlightResult flight_result;
      flight_result.error =
          Error{ErrorCode::kCancelled, "the compile was ended before there was memory for it"};
      return flight_result;
    }
    order.memory = idle.get();
  }
  FlightResult flight_result = RunNow(plan, order, std::move(stop));
  if (order.memory != nullptr) {
    order.memory->ended = !flight_result.error && flight_result.output.succeeded;
  }
  return flight_result;
}

FlightResult CompileRunner::RunNow(const BuildPlan& plan, const CompileOrder& order,
                                   std::stop_token stop) {
  FlightResult flight_result;
  flight_result.started = Clock::now();
  flight_result.uncacheable_reason = plan.uncacheable_reason;
  const Toolchain& toolchain = *plan.job.toolchain;
  flight_result.toolchain_changed = !parts_.toolchains.Unchanged(toolchain);
  if (flight_result.toolchain_changed) {
    flight_result.error =
        Error{ErrorCode::kUnavailable,
              "the toolchain keeps changing on disk; try again when its installation is "
              "complete"};
    return flight_result;
  }
  Attempt attempt = CompileWithRetry(plan, order, stop);
  flight_result.compile_time =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - flight_result.started);
  CountJob(order.purpose, attempt.ended_for_paths, flight_result.compile_time);
  flight_result.toolchain_changed = !parts_.toolchains.Unchanged(toolchain);
  const bool may_hold_text = attempt.record.traits.uses.as_text ||
                             LooksInToolchain(attempt.record.closure) || plan.bundled_headers;
  const std::optional<bool> ptx_shows_paths = attempt.ptx_shows_paths;
  Judge(plan, std::move(attempt), &flight_result);
  if (ptx_shows_paths) {
    flight_result.shows_paths = *ptx_shows_paths;
  } else if (order.purpose == CompilePurpose::kCaller && may_hold_text &&
             flight_result.keepable() && flight_result.output.succeeded &&
             (!plan.path_dependent || plan.bundled_headers) && MakesIntermediateCode(plan.job)) {
    flight_result.shows_paths = PtxShowsPaths(plan, order, flight_result.closure, stop);
  }
  // The names of other directories are real, but the compiler never sees the client's name of this
  // one.
  if (plan.path_dependent && plan.bundled_headers &&
      std::exchange(flight_result.shows_paths, false)) {
    flight_result.error = Error{ErrorCode::kInvalidRequest,
                                "option --use-bundled-headers: the output shows the name of the "
                                "directory, so only the client itself can compile this program"};
  }
  const CallerFilesPtr& files = order.caller.files;
  flight_result.files_were_sent = files != nullptr;
  if (flight_result.error && files != nullptr && files->failed())
    flight_result.failed_files = files;
  return flight_result;
}

void CompileRunner::Judge(const BuildPlan& plan, Attempt attempt, FlightResult* flight_result) {
  flight_result->looked_outside = attempt.record.asked;
  flight_result->closure = std::move(attempt.record.closure);
  flight_result->may_show_paths = attempt.ended_for_paths;
  flight_result->blames_input = attempt.blames_input;
  if (!attempt.output) {
    flight_result->error = attempt.output.error();
    return;
  }
  flight_result->output = *std::move(attempt.output);
  flight_result->memory = std::exchange(flight_result->output.memory, nullptr);
  const std::string& time_token = attempt.record.traits.time_token;
  if (flight_result->uncacheable_reason.empty() && !time_token.empty()) {
    flight_result->uncacheable_reason = "the output can hold the time: " + time_token;
  }
  flight_result->shows_paths = ShowsCanonicalNames(plan, *flight_result->output.artifact);
}

// The PTX of the program is searched instead of its LTO-IR or OptiX-IR: those always contain file
// names, which the search can't tell from paths shown as text. To link the LTO-IR and search the
// result would not help, because a link drops functions that no kernel calls.
bool CompileRunner::PtxShowsPaths(const BuildPlan& plan, const CompileOrder& order,
                                  const Closure& closure, const std::stop_token& stop) {
  const BuildPlan ptx = ToPtx(plan);
  const Attempt attempt = CompileOnce(ptx, ToSearch(order), limits_.Started(), stop);
  return ShowsPaths(ptx, attempt, closure).value_or(true);
}

std::optional<bool> CompileRunner::ShowsPaths(const BuildPlan& ptx, const Attempt& attempt,
                                              const Closure& closure) {
  parts_.statistics.Add(Counter::kPathProofs);
  if (!attempt.output || !attempt.output->succeeded) return std::nullopt;
  // If the files have changed since the first compile, this PTX proves nothing about its output.
  if (attempt.record.closure != closure) return std::nullopt;
  return ShowsCanonicalNames(ptx, *attempt.output->artifact);
}

CompileRunner::Attempt CompileRunner::CompileWithRetry(const BuildPlan& plan,
                                                       const CompileOrder& order,
                                                       std::stop_token stop) {
  const CompileLimits limits = limits_.Started();
  Attempt attempt = CompileOnce(plan, order, limits, stop);
  Count(attempt.output);
  if (attempt.output.ok() || attempt.output.error().code != ErrorCode::kWorkerCrashed) {
    return attempt;
  }
  const bool own_signal = attempt.output.error().own_signal;
  parts_.statistics.Add(Counter::kRetries);
  attempt = CompileOnce(plan, order, limits, stop);
  Count(attempt.output);
  attempt.blames_input = own_signal && !attempt.output && attempt.output.error().own_signal;
  return attempt;
}

CompileRunner::Attempt CompileRunner::CompileOnce(const BuildPlan& plan, const CompileOrder& order,
                                                  const CompileLimits& limits,
                                                  std::stop_token stop) {
  std::optional<Preamble> preamble;
  if (HasPreambles(plan, order)) preamble = PreambleOf(plan);
  if (!preamble) return CompileAll(plan, order, limits, std::move(stop));
  FoundPreamble found = FindPreamble(plan, order, *preamble, limits, stop);
  std::optional<Attempt> quick = CompileRest(plan, order, &found, limits, stop);
  if (quick) return *std::move(quick);
  const Clock::time_point started = Clock::now();
  Attempt attempt = CompileAll(plan, order, limits, std::move(stop));
  NoteMiss(plan, order, *preamble, found, attempt,
           std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started));
  return attempt;
}

bool CompileRunner::HasPreambles(const BuildPlan& plan, const CompileOrder& order) const {
  const Caller& caller = order.caller;
  // Shadow checks compare compiles of the whole program, so they use no preamble.
  if (parts_.preambles == nullptr || IsIdle(order.purpose)) return false;
  if (parts_.compiler.KeepsApart(*plan.job.toolchain, caller.peer.account())) return false;
  if (caller.files == nullptr) return caller.peer.uid != kOverflowUid;
  return parts_.sent_contents != nullptr &&
         !IsAloneWithSentFiles(caller.peer.uid, plan.directories);
}

CompileRunner::Attempt CompileRunner::CompileAll(const BuildPlan& plan, const CompileOrder& order,
                                                 const CompileLimits& limits,
                                                 std::stop_token stop) {
  const Prepared prepared = Prepare(plan, order);
  return Ended(prepared, parts_.compiler.Compile(prepared.job, limits, std::move(stop)));
}

CompileRunner::FoundPreamble CompileRunner::FindPreamble(const BuildPlan& plan,
                                                         const CompileOrder& order,
                                                         const Preamble& preamble,
                                                         const CompileLimits& limits,
                                                         const std::stop_token& stop) {
  const std::array keys = {preamble.key_in_directory, preamble.key};
  for (const Digest& key : keys) {
    if (auto parsed = parts_.preambles->Find(key)) return {key, std::move(parsed)};
  }
  FoundPreamble found;
  for (const Digest& key : keys) {
    // For a caller that sends its files, the preamble can't be requested here: the daemon has these
    // files only after a compile has asked for them.
    if (order.caller.files == nullptr) {
      WantPreamble(plan, order.caller.peer, preamble, key, nullptr);
    }
    found = {key, parts_.preambles->Await(key, *limits.deadline, stop)};
    if (found.parsed != nullptr) break;
  }
  return found;
}

std::optional<CompileRunner::Attempt> CompileRunner::CompileRest(const BuildPlan& plan,
                                                                 const CompileOrder& order,
                                                                 FoundPreamble* preamble,
                                                                 const CompileLimits& limits,
                                                                 std::stop_token stop) {
  const ParsedPreamblePtr& parsed = preamble->parsed;
  if (parsed == nullptr || NamesProgram(parsed->record.closure, plan.job)) return std::nullopt;
  if (parsed->record.asked && order.first_question) order.first_question();
  Prepared prepared = Prepare(plan, order);
  const CallerFilesPtr& sent = order.caller.files;
  const std::optional<Result<bool>> adopted =
      RevalidateClosure(sent == nullptr ? *parts_.checks : *parts_.sent_checks,
                        order.caller.peer.account(), prepared.recorder, parsed, stop);
  if (!adopted) return std::nullopt;
  if (!*adopted) return Ended(prepared, adopted->error());
  if (!**adopted) {
    // If the caller failed to send a file, it is unknown whether the preamble is up to date.
    preamble->untrue = sent == nullptr || !sent->failed();
    return std::nullopt;
  }
  prepared.job.precompiled = parsed->precompiled;
  Attempt attempt = Ended(prepared, parts_.compiler.Compile(prepared.job, limits, stop));
  Result<CompileOutput>& output = attempt.output;
  const bool cancelled = stop.stop_requested() || attempt.ended_for_paths;
  if (output.ok() && output->succeeded) {
    if (ShowsPreamble(*output->artifact)) {
      parts_.statistics.Add(Counter::kPchFailures);
      parts_.preambles->Blame(preamble->key, parsed);
      return std::nullopt;
    }
    // These names come from this program, so the preamble is kept: other programs may use it
    // without showing such names.
    if (attempt.record.traits.function_tokens || ShowsMangledNames(*output->artifact)) {
      parts_.statistics.Add(Counter::kPchFailures);
      return std::nullopt;
    }
    if (MakesIntermediateCode(plan.job)) {
      const BuildPlan ptx = ToPtx(plan);
      const std::optional<Attempt> shown =
          CompileRest(ptx, ToSearch(order), preamble, limits_.Started(), std::move(stop));
      if (!shown) return std::nullopt;
      attempt.ptx_shows_paths = ShowsPaths(ptx, *shown, attempt.record.closure);
      if (!attempt.ptx_shows_paths) return std::nullopt;
      output->artifact = MadeWithPreamble(*output->artifact);
    }
    if (order.purpose == CompilePurpose::kCaller) parts_.statistics.Add(Counter::kPchBuilds);
    output.value().precompiled_headers = true;
  } else if (!cancelled) {
    // The program is compiled again without the preamble, so that a compile error has the same text
    // as without a preamble.
    parts_.statistics.Add(Counter::kPchFailures);
    if (!output && IsOfPreamble(output.error())) parts_.preambles->Blame(preamble->key, parsed);
    if (!output) parts_.preambles->Drop(preamble->key, parsed);
    return std::nullopt;
  }
  return attempt;
}

CompileRunner::Prepared CompileRunner::Prepare(const BuildPlan& plan, const CompileOrder& order) {
  // Shared with the recorder, which may outlive the compile if a disk hangs.
  const auto ended_for_paths = std::make_shared<std::atomic<bool>>(false);
  ClosureRecorder::Events events{.first_question = order.first_question};
  if (!plan.path_dependent && order.purpose == CompilePurpose::kCaller) {
    events.path_token = [ended_for_paths]() -> Status {
      *ended_for_paths = true;
      return Error{ErrorCode::kCancelled, "compiled again under the real paths"};
    };
  }
  UsersFileTraits traits{known_traits_, order.caller.peer};
  Prepared prepared{plan.job,
                    std::make_shared<ClosureRecorder>(
                        OpenFilesOf(order, plan.directories, parts_.files, parts_.sent_contents),
                        NamesOf(plan), std::move(events), PathUsesOf(plan), std::move(traits)),
                    ended_for_paths};
  AddSeed(plan, &prepared.job);
  prepared.job.requester = order.caller.peer.uid;
  prepared.job.account = order.caller.peer.account();
  // Linkers and libNVVM get all inputs in the request, so their workers may not ask for files. A
  // worker that asks nevertheless is under an attacker's control.
  if (plan.job.request->kind() == BuildKind::kNvrtc) {
    prepared.job.files = prepared.recorder;
  }
  if (order.memory != nullptr) prepared.job.peak_bytes = &order.memory->peak_bytes;
  prepared.job.background = IsIdle(order.purpose);
  return prepared;
}

CompileRunner::Attempt CompileRunner::Ended(const Prepared& prepared,
                                            Result<CompileOutput> output) {
  return {.output = std::move(output),
          .record = prepared.recorder->Finish(),
          .ended_for_paths = *prepared.ended_for_paths};
}

void CompileRunner::WantPreamble(const BuildPlan& plan, const Peer& peer, const Preamble& preamble,
                                 const Digest& key, AnsweredFilesPtr files) {
  CompileJob job = PreambleJob(plan.job, preamble);
  const uint64_t bytes = BytesOf(job, plan) + (files == nullptr ? 0 : BytesOf(files->closure));
  CompileOrder later{.caller = peer, .recalled = std::move(files)};
  parts_.preambles->Want(key, peer.account(), bytes,
                         [&access = parts_.files, sent = parts_.sent_contents, job = std::move(job),
                          later, directories = plan.directories, names = NamesOf(plan),
                          uses = PathUsesOf(plan), traits = UsersFileTraits{known_traits_, peer},
                          for_any_directory = key == preamble.key]() mutable {
                           PreamblePool::Order made{std::move(job), nullptr, for_any_directory};
                           made.recorder = std::make_shared<ClosureRecorder>(
                               OpenFilesOf(later, directories, access, sent), std::move(names),
                               ClosureRecorder::Events{}, uses, std::move(traits));
                           made.job.requester = later.caller.peer.uid;
                           made.job.account = later.caller.peer.account();
                           made.job.files = made.recorder;
                           return made;
                         });
}

void CompileRunner::NoteMiss(const BuildPlan& plan, const CompileOrder& order,
                             const Preamble& preamble, const FoundPreamble& found,
                             const Attempt& attempt, std::chrono::microseconds time) {
  const bool good =
      attempt.output.ok() && attempt.output->succeeded && attempt.record.traits.time_token.empty();
  if (!good) return;
  const Closure& closure = attempt.record.closure;
  const bool reads_own = ReadsOwnDirectory(closure);
  // The program reads files in its own directory. The preamble is kept, because it may be up to
  // date for programs that read no such files.
  const bool serves_others = reads_own && found.key == preamble.key;
  if (found.untrue && !serves_others) parts_.preambles->Drop(found.key, found.parsed);
  const Peer& peer = order.caller.peer;
  const Digest& key = reads_own ? preamble.key_in_directory : preamble.key;
  const bool files_are_sent = order.caller.files != nullptr;
  // If no preamble was found, nothing is requested here: FindPreamble requests the preamble for the
  // next program, which can then wait for it.
  if (files_are_sent || found.parsed != nullptr) {
    WantPreamble(plan, peer, preamble, key, files_are_sent ? Recall(plan, closure) : nullptr);
  }
  parts_.preambles->NoteMiss(key, peer.account(), time);
}

void CompileRunner::CountJob(CompilePurpose purpose, bool given_up,
                             std::chrono::microseconds time) {
  if (given_up) {
    parts_.statistics.Add(Counter::kGivenUp);
    parts_.statistics.Add(Counter::kGivenUpMicroseconds, time.count());
  } else if (purpose == CompilePurpose::kCaller) {
    parts_.statistics.Add(Counter::kCompiles);
    parts_.statistics.Add(Counter::kCompileMicroseconds, time.count());
  } else if (purpose == CompilePurpose::kShadowCheck) {
    parts_.statistics.Add(Counter::kShadowChecks);
  }
}

void CompileRunner::Count(const Result<CompileOutput>& output) {
  if (output.ok()) return;
  switch (output.error().code) {
    case ErrorCode::kWorkerCrashed:
      return parts_.statistics.Add(Counter::kWorkerCrashes);
    case ErrorCode::kTimedOut:
      return parts_.statistics.Add(Counter::kTimeouts);
    case ErrorCode::kOutOfMemory:
      return parts_.statistics.Add(Counter::kOutOfMemory);
    default:
      return;
  }
}

std::optional<Result<bool>> RevalidateClosure(BlockingPool& checks, Account account,
                                              const std::shared_ptr<ClosureRecorder>& recorder,
                                              const ParsedPreamblePtr& parsed,
                                              const std::stop_token& stop) {
  // If the preamble has only headers of the toolchain, the comparison is done in memory and can't
  // hang.
  if (!parsed->record.asked) return recorder->Adopt(parsed->record);
  const auto finding = std::make_shared<Finding>();
  const Status added = checks.Add(
      account,
      {.look = [recorder, parsed, finding] { finding->Put(recorder->Adopt(parsed->record)); },
       .then = [] {},
       .late = [] {}});
  if (!added) return std::nullopt;
  return finding->Wait(stop);
}

}  // namespace cccl_cache::daemon
