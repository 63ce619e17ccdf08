// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/flights.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "daemon/core/model/result.h"

namespace cccl_cache::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// Maximum number of restarts of a build because its toolchain changed during the compile. If it
// changed in three successive compiles, it is being installed. The next result is answered, but not
// cached.
constexpr int kMaxRestarts = 3;
// Maximum number of restarts of a build because another flight of its fingerprint ended while it
// waited for a slot. If three such results did not serve it, its headers probably differ from
// theirs.
constexpr int kMaxOvertaken = 3;
// Maximum number of questions of a build to shelves and other nodes. It asks for manifests, which
// may differ between them, and for the artifact of the closure that matches. It may ask for both
// again with real names.
constexpr int kMaxAsked = 8;

Digest FlightOfView(const BuildPlan& plan, const CallerFilesPtr& files) {
  Hasher hasher;
  hasher.AppendValue("flight", plan.flight.View());
  hasher.AppendValue("view", plan.View().View());
  hasher.AppendValue("sent files", files == nullptr ? 0 : 1);
  return hasher.Finish();
}

Digest FlightOfUser(const BuildPlan& plan, const Caller& caller) {
  Hasher hasher;
  hasher.AppendValue("flight", plan.flight.View());
  hasher.AppendValue("uid", caller.peer.uid);
  hasher.AppendValue("sent files", caller.files == nullptr ? 0 : 1);
  return hasher.Finish();
}

bool IsAlone(const Build& waiter) {
  return IsAloneWithSentFiles(waiter.peer.uid, waiter.plan->directories);
}

IdleJobs::Bounds SameSlots(const FairQueue::Bounds& queue) { return {.slots = queue.slots}; }

// Returns the key of a flight that belongs to one caller alone.
Digest FlightOfCaller(const Build& waiter) {
  Hasher hasher;
  hasher.AppendValue("flight", waiter.plan->flight.View());
  hasher.AppendValue("ticket", waiter.ticket);
  return hasher.Finish();
}

// Returns whether the files with which the plan was compiled are also the waiter's files, so that
// the waiter may get the result. `sent`: whether the leader sent its files.
bool SameFiles(const Build& waiter, const BuildPlan& plan, bool sent) {
  if (!waiter.flight.joined_before_start) return false;
  if (waiter.plan.get() == &plan) return true;
  if ((sent || waiter.files != nullptr) && IsAlone(waiter)) return false;
  return waiter.plan->View() == plan.View();
}

// Returns whether a compile of this waiter's own files produces output that contains their names.
bool ShowsPathsOf(const Build& waiter, const BuildPlan& plan, const FlightResult& flight_result) {
  return flight_result.shows_paths &&
         (!flight_result.looked_outside || SameFiles(waiter, plan, flight_result.files_were_sent));
}

// Returns whether this result is the right answer for this waiter. If not, the waiter starts again.
bool Matches(const Build& waiter, const BuildPlan& plan, const FlightResult& flight_result) {
  if (flight_result.tier != TierName::kNone) return true;
  if (flight_result.failed_files != nullptr && flight_result.failed_files != waiter.files)
    return false;
  // The daemon could not open the leader's files, but this waiter sends its files.
  const bool files_needed =
      flight_result.error && flight_result.error->code == ErrorCode::kFilesNeeded;
  if (files_needed && waiter.files != nullptr) return false;
  if (flight_result.looked_outside && !SameFiles(waiter, plan, flight_result.files_were_sent))
    return false;
  if (flight_result.shows_paths || flight_result.may_show_paths) return false;
  if (!flight_result.uncacheable_reason.empty() && !waiter.flight.joined_before_start) return false;
  return !flight_result.toolchain_changed || waiter.flight.restarts >= kMaxRestarts;
}

/// The files of a requester. While the compile waits for them, others may use its slot.
class WaitedFor final : public RequesterFiles {
 public:
  WaitedFor(std::unique_ptr<RequesterFiles> files, std::shared_ptr<FairQueue::Waits> waits)
      : files_(std::move(files)), waits_(std::move(waits)) {}

  void Expect(std::span<const ExpectedFile> expected) override {
    const Wait wait(*this);
    files_->Expect(expected);
  }
  Result<SeenFile> Look(const FileName& name) override {
    const Wait wait(*this);
    return files_->Look(name);
  }
  Result<SeenFile> Compare(const FileName& name, const Digest& digest) override {
    const Wait wait(*this);
    return files_->Compare(name, digest);
  }
  Result<Contents> Read(const FileName& name) override {
    const Wait wait(*this);
    return files_->Read(name);
  }

 private:
  struct Wait {
    explicit Wait(const WaitedFor& who) : files(who) { files.waits_->Begin(&files); }
    ~Wait() { files.waits_->End(&files); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    const WaitedFor& files;
  };

  const std::unique_ptr<RequesterFiles> files_;
  const std::shared_ptr<FairQueue::Waits> waits_;
};

/// The error has no retry time, so that the caller compiles locally. A retry would not help,
/// because the caller's file system will be as slow then.
Error GaveWay() {
  return Error{ErrorCode::kOverloaded,
               "this compile waited long for files of its requester, and was ended because other "
               "users waited for its slot: compile it without the daemon, or raise jobs in the "
               "daemon's configuration"};
}

CompileRunner::Parts WithOwn(CompileRunner::Parts parts, PreamblePool* preambles,
                             CompileMemory* memory) {
  parts.preambles = preambles;
  parts.memory = memory;
  return parts;
}

}  // namespace

Flights::Flights(const Parts& parts, const Limits& limits, StartAgain start_again)
    : parts_(parts),
      start_again_(std::move(start_again)),
      memory_(limits.memory, parts.compile.statistics, [this] { queue_.MemoryFreed(); }),
      preambles_(parts.compile.compiler, parts.compile.statistics, limits.compile, limits.preambles,
                 &memory_),
      runner_(WithOwn(parts.compile, &preambles_, &memory_), limits.compile),
      idle_jobs_(
          SameSlots(limits.queue),
          [this, slots = limits.queue.slots] { return memory_.items_wait() ? slots : Busy(); }),
      shadow_checks_({parts.cache, runner_, idle_jobs_, parts.compile.statistics, parts.report},
                     limits.shadow_check_every),
      queue_(
          limits.queue, [this](uint64_t flight, const FairQueue::Slot& slot) { Run(flight, slot); },
          &memory_, [this] { idle_jobs_.MakeRoom(); }) {}

void Flights::Close() {
  parts_.table.CancelAll();
  if (parts_.cluster != nullptr) parts_.cluster->Close();
  preambles_.Stop();
  idle_jobs_.Stop();
  queue_.Close();
}

bool Flights::CanBeRecalled(const BuildPlan& plan, const Caller& caller) const {
  return caller.files == nullptr || (parts_.compile.sent_contents != nullptr &&
                                     !IsAloneWithSentFiles(caller.peer.uid, plan.directories));
}

void Flights::Hit(const Build& waiter, const FlightResult& hit, const Closure& closure) {
  const bool sent = waiter.files != nullptr;
  if (!CanBeRecalled(*waiter.plan, {waiter.peer, waiter.files})) return;
  shadow_checks_.Consider({.plan = waiter.plan,
                           .peer = waiter.peer,
                           .flight_result = hit,
                           .closure = closure,
                           .files_were_sent = sent});
}

void Flights::Leave(Build::Ticket ticket) {
  const FlightTable::Left left = parts_.table.Leave(ticket);
  // If the flight has other waiters, it also keeps its place in the queue of this caller's account.
  // Removing it there could remove the place of another build that the same user adds at this
  // moment.
  if (!left.last) return;
  queue_.Remove(left.flight);
  parts_.compile.statistics.Add(Counter::kCancelled);
}

BuildActivity Flights::Activity(const Peer& peer) const {
  const bool all = peer.administrator;
  BuildActivity activity;
  queue_.Describe(all ? std::nullopt : std::optional(peer.account()), &activity);
  activity.waiting = parts_.table.Waiting();
  activity.flights = parts_.table.List(peer, &activity.more_flights);
  preambles_.Describe(&activity);
  activity.memory = memory_.activity();
  return activity;
}

// Returns the key of the flight that the waiter joins. While a compile has read nothing outside the
// toolchain, all users share its flight. After that, only builds of one user share it, so that no
// user's disk delays another user. In two cases it is shared only by waiters that have the same
// files: a waiter starts again because the closure did not match its files, or uses real names
// because a file contains paths.
Digest Flights::KeyFor(const Build& waiter) {
  const BuildPlan& plan = *waiter.plan;
  const bool of_view = waiter.flight.restarts > 0 || waiter.real_names;
  if (!of_view && !parts_.cache.LooksOutside(plan)) {
    return plan.flight;
  }
  if (waiter.files != nullptr && IsAlone(waiter)) return FlightOfCaller(waiter);
  return of_view ? FlightOfView(plan, waiter.files)
                 : FlightOfUser(plan, {waiter.peer, waiter.files});
}

void Flights::Join(BuildPtr waiter) {
  const Peer peer = waiter->peer;
  const std::shared_ptr<const BuildPlan> plan = waiter->plan;
  const bool shared = plan->uncacheable_reason.empty();
  const FlightTable::Unqueued unqueued{waiter->ticket, peer.account(), waiter->request->priority,
                                       plan, shared && !waiter->flight.counted_as_miss};
  const bool asks =
      shared && parts_.cluster != nullptr && waiter->questions.of_flights++ < kMaxAsked;
  waiter->flight.joined = Clock::now();
  const Digest key = KeyFor(*waiter);
  const bool of_one_caller = waiter->files != nullptr && IsAlone(*waiter);
  if (asks && waiter->questions.of_flights == 1) waiter->questions.first = waiter->flight.joined;
  const KnownClosure* const closure = waiter->findings.closure;
  Wanted wanted{.plan = plan,
                .account = peer.account(),
                .compile = of_one_caller ? std::nullopt : std::optional(key),
                .since = waiter->questions.first,
                .artifact = closure == nullptr ? plan->key : closure->key,
                .manifest = closure == nullptr,
                .known = waiter->findings.manifest.shared};
  const FlightTable::Joined joined =
      parts_.table.Join(std::move(waiter), key, {.shared = shared, .asking = asks});
  if (joined.flight == 0) return;
  if (unqueued.missed && !joined.asking) parts_.compile.statistics.Add(Counter::kMisses);
  if (joined.started) return;
  if (joined.leads && shared) {
    // Another flight of this key may have ended between the look-up and the join. Its result is in
    // memory.
    const std::optional<FlightResult> hit = parts_.cache.FindClosedInMemory(*plan);
    if (hit) return Land(joined.flight, plan, peer, *hit, nullptr);
  }
  if (!joined.asking) return Enqueue(joined.flight, unqueued);
  if (joined.leads && !AskCluster(joined, std::move(wanted))) EndAsking(joined.flight);
}

void Flights::Enqueue(uint64_t flight, const FlightTable::Unqueued& waiter) {
  const Status queued = queue_.Add(flight, waiter.account, waiter.priority,
                                   CompileMemory::KindOf(waiter.plan->job, waiter.account));
  if (queued) return;
  FlightTable::Left left = parts_.table.TakeOutOfLine(waiter.ticket);
  if (left.waiter != nullptr) parts_.responder.Refuse(std::move(left.waiter), queued.error());
}

void Flights::EndAsking(uint64_t flight) {
  for (const FlightTable::Unqueued& waiter : parts_.table.EndAsking(flight)) {
    if (waiter.missed) parts_.compile.statistics.Add(Counter::kMisses);
    Enqueue(flight, waiter);
  }
}

bool Flights::AskCluster(const FlightTable::Joined& joined, Wanted wanted) {
  const BuildPlan& plan = *wanted.plan;
  Cluster::Question question{.entries = {ArtifactNameOf(plan, wanted.artifact)},
                             .account = wanted.account,
                             .compile = wanted.compile,
                             .since = wanted.since,
                             .usual_time = UsualTime(plan.job.request->kind())};
  if (wanted.manifest) question.entries.push_back(ManifestNameOf(plan));
  const uint64_t flight = joined.flight;
  const std::shared_ptr<const BuildPlan> kept = wanted.plan;
  return parts_.cluster->Ask(
      std::move(question), joined.ended,
      {.found = [this, flight, wanted = std::move(wanted)](
                    const Cluster::Found& found) { return TakeFromCluster(flight, wanted, found); },
       .compile = [this, flight] { EndAsking(flight); },
       .looks_outside = [this, flight,
                         plan = kept](uid_t uid) { LooksOutsideElsewhere(flight, *plan, uid); }});
}

// Stores another node's entries in this node's tiers. Then looks up the waiters again, because each
// waiter's files decide which artifact is right. A manifest without an artifact does not end a
// compile that runs, because perhaps none of its closures matches the files of this node.
bool Flights::TakeFromCluster(uint64_t flight, const Wanted& wanted, const Cluster::Found& found) {
  const ArtifactPtr& artifact = found.entries.front().artifact;
  const auto& manifest = found.entries.back().manifest;
  if (artifact != nullptr) parts_.cache.AddFromElsewhere(wanted.artifact, artifact, found.tier);
  const bool merged = manifest != nullptr &&
                      parts_.cache.MergeManifest(*wanted.plan, *manifest, wanted.known.get());
  if (artifact == nullptr && (!merged || parts_.table.HasBegun(flight))) return false;
  for (BuildPtr& waiter : parts_.table.Finish(flight)) {
    if (artifact != nullptr)
      waiter->questions.fetched = {.key = wanted.artifact, .tier = found.tier};
    start_again_(std::move(waiter));
  }
  return true;
}

void Flights::NoteTime(BuildKind kind, std::chrono::microseconds time) {
  constexpr int64_t kWeight = 16;  // if a compile is faster than the remembered time, this time is
                                   // reduced by 1/kWeight of the difference
  std::atomic<int64_t>& usual = usual_times_[static_cast<size_t>(kind)];
  const int64_t before = usual.load(std::memory_order_relaxed);
  const int64_t less = std::max<int64_t>(0, before - time.count());
  usual.store(less == 0 ? time.count() : before - less / kWeight, std::memory_order_relaxed);
}

// Runs one flight in its slot, from the start of the compile to the answers. Called on a thread of
// the queue.
void Flights::Run(uint64_t flight, const FairQueue::Slot& slot) {
  const auto started = parts_.table.Begin(flight);
  if (!started) return;
  const BuildPlan& plan = *started->plan;
  const uid_t uid = started->caller.peer.uid;
  const Manifest* const known = started->manifest.get();
  idle_jobs_.MakeRoom();
  if (plan.uncacheable_reason.empty() && started->overtaken < kMaxOvertaken &&
      HasLanded(plan, uid, known)) {
    for (BuildPtr& waiter : parts_.table.Finish(flight)) {
      waiter->flight.outcome_if_cached = Outcome::kJoined;
      ++waiter->flight.overtaken;
      start_again_(std::move(waiter));
    }
    return;
  }
  const Caller& caller = started->caller;
  CompileOrder order{.caller = caller, .memory = slot.memory};
  const std::shared_ptr<FairQueue::Waits> waits = slot.waits;
  order.around_files = [waits](std::unique_ptr<RequesterFiles> files) {
    return std::make_unique<WaitedFor>(std::move(files), waits);
  };
  if (!plan.includes_outside) {
    order.first_question = [this, flight, caller, kept = started->plan] {
      LooksOutside(flight, *kept, caller);
    };
  }
  std::stop_source end;
  const std::stop_callback left(started->stop, [&end] { end.request_stop(); });
  const std::stop_callback given_way(waits->gives_way(), [&end] { end.request_stop(); });
  FlightResult flight_result = runner_.Run(plan, order, end.get_token());
  const bool ended = flight_result.error && flight_result.error->code == ErrorCode::kCancelled;
  if (ended && waits->gives_way().stop_requested()) flight_result.error = GaveWay();
  Land(flight, started->plan, caller.peer, flight_result, known);
}

// Returns whether another flight of this fingerprint has ended since the leader's look-up, so that
// the leader may find its result now. It looks only in memory, which has recent results. A stalled
// disk must not hold a slot.
bool Flights::HasLanded(const BuildPlan& plan, uid_t uid, const Manifest* known) {
  if (known == nullptr) return parts_.cache.ManifestInMemory(plan, uid).all != nullptr;
  const auto now = parts_.cache.SharedManifestInMemory(plan);
  return now != nullptr && now->SaysMoreThan(*known);
}

// Called when the compile asks for the first file outside the toolchain. From now on the flight
// depends on the files of one user, so waiters of other users start again.
void Flights::LooksOutside(uint64_t flight, const BuildPlan& plan, const Caller& caller) {
  const uid_t uid = caller.peer.uid;
  parts_.cache.NoteLooksOutside(plan, caller.peer.account());
  if (parts_.cluster != nullptr) {
    // The uids that the daemon assigns to users of containers have no meaning on other nodes.
    parts_.cluster->LooksOutside(plan.flight, IsContainerUser(uid) ? kOverflowUid : uid);
  }
  for (BuildPtr& waiter : parts_.table.TakeOthers(flight, uid, FlightOfUser(plan, caller))) {
    start_again_(std::move(waiter));
  }
}

void Flights::LooksOutsideElsewhere(uint64_t flight, const BuildPlan& plan, uid_t uid) {
  // The other node sends the overflow uid for users whom only that node knows, such as users of its
  // containers. No waiter of this node is one of them, so all waiters start again.
  constexpr auto kNoUser = static_cast<uid_t>(-1);
  const bool nobody_here = uid == kOverflowUid || IsContainerUser(uid);
  const Peer peer{.uid = nobody_here ? kNoUser : uid};
  parts_.cache.NoteLooksOutside(plan, peer.account());
  for (BuildPtr& waiter : parts_.table.TakeOthers(flight, peer.uid, FlightOfUser(plan, peer))) {
    start_again_(std::move(waiter));
  }
}

void Flights::Land(uint64_t flight, const std::shared_ptr<const BuildPlan>& plan, const Peer& peer,
                   const FlightResult& flight_result, const Manifest* known) {
  parts_.cache.Keep(*plan, peer, flight_result, known);
  if (flight_result.keepable() && flight_result.output.succeeded) {
    NoteTime(plan->job.request->kind(), flight_result.compile_time);
  }
  for (BuildPtr& waiter : parts_.table.Finish(flight)) {
    if (Matches(*waiter, *plan, flight_result)) {
      parts_.responder.AnswerFlight(std::move(waiter), flight_result);
    } else if (waiter->flight.restarts >= kMaxRestarts) {
      parts_.responder.Answer(std::move(waiter), KeepsChanging());
    } else {
      // A restart because another caller failed to send its files is not counted. That caller gets
      // an answer or leaves, so there are only as many such restarts as such callers.
      if (flight_result.failed_files == nullptr) ++waiter->flight.restarts;
      if (ShowsPathsOf(*waiter, *plan, flight_result)) waiter->shows_paths = true;
      if (flight_result.keepable())
        waiter->flight.outcome_if_cached =
            waiter->flight.leads ? Outcome::kBuilt : Outcome::kJoined;
      start_again_(std::move(waiter));
    }
  }
}

}  // namespace cccl_cache::daemon
