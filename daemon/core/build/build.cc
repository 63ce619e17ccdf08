// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/build/build.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "daemon/core/model/file_checks.h"
#include "daemon/core/model/result.h"
#include "daemon/core/plan/roots.h"

namespace cccl_cache::daemon {
namespace {

// Returns the architecture as the compiler was told it; empty if it was not.
std::string ArchOf(const BuildPlan& plan) {
  const auto names_arch = [](const ParsedOption& option) {
    return option.rule != nullptr &&
           (option.rule->name == "--gpu-architecture" || option.rule->name == "-arch");
  };
  const auto found = std::ranges::find_if(plan.options, names_arch);
  return found == plan.options.end() ? "" : found->value;
}

// These threads mostly wait for callers' answers.
constexpr size_t kSentFilesPerUid = 16;

FileChecks::Bounds DiskReads(const AsyncLookups::Timeouts& patience) {
  FileChecks::Bounds bounds = kDiskReads;
  bounds.time = patience.look;
  bounds.look_time = patience.disk;
  return bounds;
}

std::string UncacheableReason(const FlightResult& flight_result) {
  if (!flight_result.uncacheable_reason.empty()) return flight_result.uncacheable_reason;
  return "the toolchain changed on disk while this was compiled";
}

}  // namespace

void Responder::Answer(WaiterPtr waiter, Result<BuildAnswer> result) {
  Answer(std::move(waiter), std::move(result), false);
}

void Responder::Answer(WaiterPtr waiter, Result<BuildAnswer> result, bool kept) {
  if (!parts_.table.Close(waiter->ticket)) return;
  if (kept) NoteAnswered(*waiter, result->key);
  if (parts_.observe) {
    const auto total = std::chrono::steady_clock::now() - waiter->called;
    parts_.observe({waiter->peer, waiter->request->kind(),
                    std::chrono::duration_cast<std::chrono::microseconds>(total), result});
  }
  waiter->done(std::move(result));
}

void Responder::Refuse(WaiterPtr waiter, const Error& error) {
  parts_.statistics.Add(Counter::kRefused);
  Answer(std::move(waiter), error);
}

void Responder::AnswerHit(WaiterPtr waiter, const FlightResult& hit, const Closure& closure) {
  const std::chrono::microseconds compile_time = hit.output.artifact->compile_time;
  BuildAnswer answer = AnswerOf(*waiter->plan, hit.output);
  answer.key = hit.key;
  answer.outcome = waiter->if_found;
  answer.closed = IsOfToolchain(closure);
  if (answer.outcome == Outcome::kHit) {
    answer.tier = hit.tier;
    const bool memory = hit.tier == TierName::kMemory;
    parts_.statistics.Add(memory ? Counter::kHitsMemory : Counter::kHitsDisk);
  } else {
    answer.compile_time = compile_time;
    if (answer.outcome == Outcome::kJoined) parts_.statistics.Add(Counter::kJoins);
  }
  if (answer.outcome != Outcome::kBuilt) {
    parts_.statistics.Add(Counter::kSavedMicroseconds, compile_time.count());
  }
  Answer(std::move(waiter), std::move(answer), true);
}

void Responder::AnswerLanding(WaiterPtr waiter, const FlightResult& flight_result) {
  if (flight_result.error) {
    Error error = *flight_result.error;
    error.message = WithClientNames(*waiter->plan, error.message);
    return Answer(std::move(waiter), std::move(error));
  }
  if (flight_result.tier != TierName::kNone)
    return AnswerHit(std::move(waiter), flight_result, flight_result.closure);
  BuildAnswer answer = AnswerOf(*waiter, flight_result);
  Record(*waiter, answer, flight_result);
  if (waiter->leads && answer.outcome == Outcome::kFailed) {
    parts_.statistics.Add(Counter::kCompileFailures);
  } else if (waiter->leads && answer.outcome == Outcome::kUncacheable) {
    parts_.statistics.Add(Counter::kUncacheable);
  } else if (answer.outcome == Outcome::kJoined) {
    parts_.statistics.Add(Counter::kJoins);
    parts_.statistics.Add(Counter::kSavedMicroseconds, flight_result.compile_time.count());
  }
  Answer(std::move(waiter), std::move(answer),
         flight_result.keepable() && flight_result.output.succeeded);
}

void Responder::NoteAnswered(const Waiter& waiter, const Digest& key) {
  if (parts_.answered == nullptr) return;
  const BuildPlan& plan = *waiter.plan;
  const Toolchain& toolchain = *plan.job.toolchain;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  parts_.answered->Note(waiter.peer.uid, {key, plan.fingerprint, toolchain.id, toolchain.version(),
                                          ArchOf(plan), now});
}

void Responder::Record(const Waiter& waiter, const BuildAnswer& answer,
                       const FlightResult& flight_result) {
  const uid_t uid = waiter.peer.uid;
  // One record is enough for all of a user's calls that waited for one compile.
  if (!waiter.leads && parts_.history.Knows(uid, answer.key)) return;
  PastBuild build = MarkOf(*waiter.plan);
  build.key = answer.key;
  build.outcome = answer.outcome;
  build.reason = answer.reason;
  build.time = std::chrono::system_clock::now();
  build.closure = std::make_shared<const Closure>(flight_result.closure);
  parts_.history.Add(uid, waiter.peer.account(), std::move(build));
}

AsyncLookups::AsyncLookups(FlightTable& table, Responder& responder, const Timeouts& patience)
    : table_(table),
      responder_(responder),
      files_hang_(FilesHang(patience.look)),
      files_({.time = patience.look}),
      sent_files_({.threads_per_uid = kSentFilesPerUid, .time = patience.look}),
      disk_(DiskReads(patience)),
      computing_({.awaited = "threads that read large requests", .time = patience.look}) {}

void AsyncLookups::Compute(WaiterPtr waiter, std::function<void()> work, Then then) {
  const Error busy{ErrorCode::kOverloaded, "too many large requests of this user wait to be read"};
  Park(std::move(waiter), computing_,
       {.look = std::move(work),
        .then = std::move(then),
        .late = [this, busy](WaiterPtr late) { responder_.Refuse(std::move(late), busy); },
        .refused = [this](WaiterPtr refused,
                          const Error& why) { responder_.Refuse(std::move(refused), why); }});
}

void AsyncLookups::AtFiles(WaiterPtr waiter, std::function<void()> look, Then then) {
  FileChecks& threads = waiter->files == nullptr ? files_ : sent_files_;
  Park(std::move(waiter), threads,
       {.look = std::move(look),
        .then = std::move(then),
        .late = [this](WaiterPtr late) { responder_.Answer(std::move(late), files_hang_); },
        .refused = [this](WaiterPtr refused,
                          const Error& why) { responder_.Refuse(std::move(refused), why); }});
}

void AsyncLookups::AtDisk(WaiterPtr waiter, std::function<void()> read, Then then, Then without) {
  Park(std::move(waiter), disk_,
       {.look = std::move(read),
        .then = std::move(then),
        .late = without,
        .refused = [without](WaiterPtr refused, const Error&) { without(std::move(refused)); }});
}

void AsyncLookups::Close() {
  files_.Close();
  sent_files_.Close();
  disk_.Close();
  computing_.Close();
}

void AsyncLookups::Park(WaiterPtr waiter, FileChecks& threads, Look look) {
  const FlightTable::Ticket ticket = waiter->ticket;
  const Account account = waiter->peer.account();
  const auto resume = [this, ticket](Then next) {
    return [this, ticket, next = std::move(next)] {
      if (WaiterPtr parked = table_.TakeParked(ticket)) next(std::move(parked));
    };
  };
  // Parked before the threads get the look, so that they find the waiter parked.
  table_.Park(std::move(waiter));
  const Status added = threads.Add(account, {.look = std::move(look.look),
                                             .then = resume(std::move(look.then)),
                                             .late = resume(std::move(look.late))});
  if (added) return;
  if (WaiterPtr refused = table_.TakeParked(ticket)) {
    look.refused(std::move(refused), added.error());
  }
}

BuildAnswer AnswerOf(const BuildPlan& plan, const CompileOutput& output) {
  BuildAnswer answer;
  answer.outcome = output.succeeded ? Outcome::kBuilt : Outcome::kFailed;
  answer.key = plan.key;
  answer.fingerprint = plan.fingerprint;
  answer.toolchain_id = plan.job.toolchain->id;
  answer.toolchain_version = plan.job.toolchain->version();
  answer.artifact = output.artifact;
  answer.log = WithClientNames(plan, output.artifact->log);
  answer.native_code = output.native_code;
  answer.precompiled_headers = output.precompiled_headers;
  if (!output.succeeded) answer.reason = output.Reason();
  return answer;
}

BuildAnswer AnswerOf(const Waiter& waiter, const FlightResult& flight_result) {
  using std::chrono::microseconds;
  BuildAnswer answer = AnswerOf(*waiter.plan, flight_result.output);
  answer.key = KeyOf(waiter.plan->fingerprint, flight_result.closure);
  answer.compile_time = flight_result.compile_time;
  answer.queue_time =
      std::max(microseconds{0},
               std::chrono::duration_cast<microseconds>(flight_result.started - waiter.joined));
  if (!flight_result.output.succeeded) return answer;
  if (!flight_result.keepable()) {
    answer.outcome = Outcome::kUncacheable;
    answer.reason = UncacheableReason(flight_result);
  } else if (!waiter.leads) {
    answer.outcome = Outcome::kJoined;
  }
  answer.closed = flight_result.keepable() && IsOfToolchain(flight_result.closure);
  return answer;
}

}  // namespace cccl_cache::daemon
