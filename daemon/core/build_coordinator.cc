// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/build_coordinator.h"

#include <fmt/format.h>

#include <atomic>

#include "daemon/core/build_answer.h"
#include "daemon/core/build_plan.h"
#include "daemon/core/failure_memory.h"
#include "daemon/core/fair_queue.h"
#include "daemon/core/flight_runner.h"
#include "daemon/core/flight_table.h"

namespace cccl_cached {
namespace {

using Clock = std::chrono::steady_clock;
using cccl_cache::Digest;
using std::chrono::duration_cast;
using std::chrono::microseconds;

// Bounds of what is remembered, of all users together.
constexpr size_t kFailureBytes = 64 << 20;
constexpr size_t kQuarantineBytes = 1 << 20;
constexpr size_t kLooksOutsideBytes = 4 << 20;
constexpr std::chrono::hours kLooksOutsideLifetime{24};
// A log longer than this is not remembered: the failure is found again.
constexpr size_t kRememberedLogBytes = 64 << 10;
// A toolchain that changes under three compiles in a row is being installed: answer, keep nothing.
constexpr int kMaxRestarts = 3;
// So often in a row a build waits for a toolchain that changed again each time it was identified.
constexpr int kMaxLooks = 4;

Error Unsettled() {
  return Error{ErrorCode::kUnavailable,
               "what this build depends on keeps changing on disk; try again when it has settled"};
}

Digest Combine(const Digest& first, const Digest& second) {
  cccl_cache::Hasher hasher;
  hasher.AppendValue("first", first.View());
  hasher.AppendValue("second", second.View());
  return hasher.Finish();
}

Digest QuarantineKey(uid_t uid, const BuildPlan& plan) {
  cccl_cache::Hasher hasher;
  hasher.AppendValue("uid", uid);
  hasher.AppendValue("fingerprint", plan.fingerprint.View());
  hasher.AppendValue("view", plan.view.View());
  return hasher.Finish();
}

// Under this key the tiers keep, as an artifact without parts, that the output of a fingerprint
// shows paths: evicted like everything else, so that no client can make it pile up.
Digest ShowsPathsKey(const Digest& fingerprint) {
  cccl_cache::Hasher hasher;
  hasher.AppendValue("output shows paths", fingerprint.View());
  return hasher.Finish();
}

}  // namespace

class BuildCoordinator::Impl {
 public:
  Impl(Parts parts, uid_t own_uid, const BuildLimits& limits)
      : parts_(std::move(parts)),
        own_uid_(own_uid),
        limits_(limits),
        failures_(limits.remember_failures, kFailureBytes, Clock::now),
        quarantine_(limits.quarantine, kQuarantineBytes, Clock::now),
        looks_outside_(kLooksOutsideLifetime, kLooksOutsideBytes, Clock::now),
        runner_(parts_.toolchains, parts_.compiler, parts_.statistics, limits.compile),
        queue_(std::make_unique<FairQueue>(
            FairQueue::Bounds{limits.slots, limits.queued_per_uid, limits.queued},
            [this](uint64_t flight) { Run(flight); })) {}

  ~Impl() {
    stopping_ = true;
    flights_.CancelAll();
    queue_.reset();
    for (WaiterPtr& waiter : flights_.TakeAll()) {
      Answer(std::move(waiter),
             Error{ErrorCode::kUnavailable, "the daemon is stopping; try again"});
    }
  }

  Ticket Build(std::shared_ptr<const cccl_cache::BuildRequest> request, const Peer& peer,
               Done done) {
    parts_.statistics.Add(Counter::kBuilds);
    auto waiter = std::make_unique<Waiter>();
    const Ticket ticket = flights_.Open();
    waiter->ticket = ticket;
    waiter->request = std::move(request);
    waiter->peer = peer;
    waiter->done = std::move(done);
    waiter->called = Clock::now();
    Start(std::move(waiter));
    return ticket;
  }

  void Leave(Ticket ticket) {
    const FlightTable::Left left = flights_.Leave(ticket);
    // A flight that others wait for keeps its place in the leaver's line: taking it out would race
    // with the same user's joining again.
    if (!left.last) return;
    queue_->Remove(left.flight);
    parts_.statistics.Add(Counter::kCancelled);
  }

  void Drain(std::chrono::milliseconds deadline) {
    stopping_ = true;
    flights_.WaitUntilIdle(deadline);
  }

  BuildGauges Gauges() const { return {queue_->running(), queue_->waiting()}; }

 private:
  // The main path: plan, look up, join.
  void Start(WaiterPtr waiter) {
    if (stopping_) {
      return Answer(std::move(waiter),
                    Error{ErrorCode::kUnavailable, "the daemon is stopping; try again"});
    }
    const cccl_cache::BuildRequest& request = *waiter->request;
    const std::optional<Result<ToolchainPtr>> toolchain =
        parts_.toolchains.Select(request.toolchain, request.driver_version, request.kind());
    if (!toolchain) return StartLater(std::move(waiter));
    if (!*toolchain) return Refuse(std::move(waiter), toolchain->error());
    waiter->looks = 0;
    if (const std::optional<Error> refused = MakePlan(waiter.get(), **toolchain, false)) {
      return Refuse(std::move(waiter), *refused);
    }
    if (TryToAnswer(&waiter)) return;
    if (ShowsPaths(*waiter->plan)) {
      if (const std::optional<Error> refused = MakePlan(waiter.get(), **toolchain, true)) {
        return Refuse(std::move(waiter), *refused);
      }
      if (TryToAnswer(&waiter)) return;
    }
    if (waiter->plan->uncacheable_reason.empty()) parts_.statistics.Add(Counter::kMisses);
    JoinFlight(std::move(waiter));
  }

  // Waits, without a thread, until what changed on disk has been identified.
  void StartLater(WaiterPtr waiter) {
    if (waiter->looks >= kMaxLooks) return Answer(std::move(waiter), Unsettled());
    ++waiter->looks;
    const auto kept = std::make_shared<WaiterPtr>(std::move(waiter));
    parts_.toolchains.Rescan([this, kept] { Start(std::move(*kept)); });
  }

  std::optional<Error> MakePlan(Waiter* waiter, const ToolchainPtr& toolchain,
                                bool force_path_dependent) {
    Result<BuildPlan> plan =
        PlanBuild(waiter->request, toolchain, {waiter->peer.uid == own_uid_, force_path_dependent});
    if (!plan) return plan.error();
    waiter->plan = std::make_shared<const BuildPlan>(*std::move(plan));
    return std::nullopt;
  }

  // From what is remembered or stored. Takes the waiter over if it could be answered.
  bool TryToAnswer(WaiterPtr* waiter) {
    const BuildPlan& plan = *(*waiter)->plan;
    if (auto error = quarantine_.Find(QuarantineKey((*waiter)->peer.uid, plan))) {
      error->message += "; it died twice on this input lately, so it was not tried again";
      Answer(std::move(*waiter), *error);
      return true;
    }
    if (!plan.uncacheable_reason.empty()) return false;
    if (auto failure = failures_.Find(plan.fingerprint)) {
      parts_.statistics.Add(Counter::kRememberedFailures);
      BuildAnswer answer = AnswerOf(*(*waiter)->plan, *failure);
      answer.remembered = true;
      Answer(std::move(*waiter), std::move(answer));
      return true;
    }
    Landing hit;
    if (!LookUp(plan.key, &hit)) return false;
    AnswerHit(std::move(*waiter), hit);
    return true;
  }

  bool LookUp(const Digest& key, Landing* hit) {
    for (size_t i = 0; i < parts_.tiers.size(); ++i) {
      ArtifactPtr artifact = parts_.tiers[i]->Get(key);
      if (artifact == nullptr) continue;
      for (size_t above = 0; above < i; ++above) parts_.tiers[above]->Put(key, artifact);
      hit->tier = parts_.tiers[i]->name();
      hit->output.succeeded = true;
      hit->output.artifact = std::move(artifact);
      return true;
    }
    return false;
  }

  void AnswerHit(WaiterPtr waiter, const Landing& hit) {
    const bool memory = hit.tier == TierName::kMemory;
    parts_.statistics.Add(memory ? Counter::kHitsMemory : Counter::kHitsDisk);
    parts_.statistics.Add(Counter::kSavedMicroseconds, hit.output.artifact->compile_time.count());
    BuildAnswer answer = AnswerOf(*waiter->plan, hit.output);
    answer.outcome = Outcome::kHit;
    answer.tier = hit.tier;
    Answer(std::move(waiter), std::move(answer));
  }

  bool ShowsPaths(const BuildPlan& plan) {
    if (plan.path_dependent || plan.job.request->kind() != cccl_cache::BuildKind::kNvrtc)
      return false;
    Landing marker;
    return LookUp(ShowsPathsKey(plan.fingerprint), &marker);
  }

  Digest FlightKey(const BuildPlan& plan) {
    return looks_outside_.Find(plan.fingerprint) ? Combine(plan.fingerprint, plan.view)
                                                 : plan.fingerprint;
  }

  void JoinFlight(WaiterPtr waiter) {
    const Ticket ticket = waiter->ticket;
    const uid_t uid = waiter->peer.uid;
    const std::shared_ptr<const BuildPlan> plan = waiter->plan;
    waiter->joined = Clock::now();
    const Digest key = FlightKey(*plan);
    const bool shared = plan->uncacheable_reason.empty() && key == plan->fingerprint;
    const FlightTable::Joined joined = flights_.Join(std::move(waiter), key, shared);
    if (joined.flight == 0 || joined.started) return;
    Landing hit;
    // Another flight of this key may have landed between our look-up and our joining.
    if (joined.leads && plan->uncacheable_reason.empty() && LookUp(plan->key, &hit)) {
      return Land(joined.flight, *plan, uid, hit);
    }
    const Status queued = queue_->Add(joined.flight, uid);
    if (queued) return;
    FlightTable::Left left = flights_.TakeOut(ticket);
    if (left.waiter != nullptr) Refuse(std::move(left.waiter), queued.error());
  }

  // One flight from its slot to its landing; runs on a slot's thread.
  void Run(uint64_t flight) {
    const auto started = flights_.Begin(flight);
    if (!started) return;
    Land(flight, *started->plan, started->uid, runner_.Run(*started->plan, started->stop));
  }

  void Land(uint64_t flight, const BuildPlan& plan, uid_t uid, const Landing& landing) {
    Keep(plan, uid, landing);
    std::vector<WaiterPtr> waiters = flights_.Finish(flight);
    for (WaiterPtr& waiter : waiters) {
      if (Suits(*waiter, plan, landing)) {
        AnswerLanding(std::move(waiter), landing);
      } else if (waiter->restarts >= kMaxRestarts) {
        Answer(std::move(waiter), Unsettled());
      } else {
        ++waiter->restarts;
        Start(std::move(waiter));
      }
    }
  }

  // `uid`: whose failure it is that is remembered.
  void Keep(const BuildPlan& plan, uid_t uid, const Landing& landing) {
    if (landing.looked_outside) looks_outside_.Remember(plan.fingerprint, uid, true, 0);
    if (landing.shows_paths) Store(ShowsPathsKey(plan.fingerprint), std::make_shared<Artifact>());
    if (!landing.keepable()) return;
    if (landing.output.succeeded) {
      Store(plan.key, landing.output.artifact);
    } else if (const size_t log = landing.output.artifact->log.size(); log <= kRememberedLogBytes) {
      failures_.Remember(plan.fingerprint, uid, landing.output, log);
    }
  }

  void Store(const Digest& key, const ArtifactPtr& artifact) {
    for (Tier* tier : parts_.tiers) tier->Put(key, artifact);
  }

  // Whether the landing is an answer to what this waiter asked.
  static bool Suits(const Waiter& waiter, const BuildPlan& plan, const Landing& landing) {
    if (landing.tier != TierName::kNone) return true;
    const bool same_files = waiter.plan->view == plan.view && waiter.joined_before_start;
    if (landing.looked_outside && !same_files) return false;
    if (landing.shows_paths) return false;
    return !landing.toolchain_changed || waiter.restarts >= kMaxRestarts;
  }

  void AnswerLanding(WaiterPtr waiter, const Landing& landing) {
    if (landing.error) {
      if (landing.error->code == ErrorCode::kWorkerCrashed) {
        quarantine_.Remember(QuarantineKey(waiter->peer.uid, *waiter->plan), waiter->peer.uid,
                             *landing.error, landing.error->message.size());
      }
      return Answer(std::move(waiter), *landing.error);
    }
    if (landing.tier != TierName::kNone) return AnswerHit(std::move(waiter), landing);
    BuildAnswer answer = AnswerOf(*waiter, landing);
    if (waiter->leads && answer.outcome == Outcome::kFailed) {
      parts_.statistics.Add(Counter::kCompileFailures);
    } else if (waiter->leads && answer.outcome == Outcome::kUncacheable) {
      parts_.statistics.Add(Counter::kUncacheable);
    } else if (answer.outcome == Outcome::kJoined) {
      parts_.statistics.Add(Counter::kJoins);
      parts_.statistics.Add(Counter::kSavedMicroseconds, landing.compile_time.count());
    }
    Answer(std::move(waiter), std::move(answer));
  }

  void Refuse(WaiterPtr waiter, const Error& error) {
    parts_.statistics.Add(Counter::kRefused);
    Answer(std::move(waiter), error);
  }

  void Answer(WaiterPtr waiter, Result<BuildAnswer> result) {
    if (!flights_.Close(waiter->ticket)) return;
    if (parts_.observe) {
      parts_.observe({waiter->peer, waiter->request->kind(),
                      duration_cast<microseconds>(Clock::now() - waiter->called), result});
    }
    waiter->done(std::move(result));
  }

  const Parts parts_;
  const uid_t own_uid_;
  const BuildLimits limits_;
  std::atomic<bool> stopping_{false};
  FlightTable flights_;
  FailureMemory<CompileOutput> failures_;  // by fingerprint
  FailureMemory<Error> quarantine_;        // by uid, fingerprint and view
  FailureMemory<bool> looks_outside_;      // fingerprints whose compiles asked for outside files
  FlightRunner runner_;
  std::unique_ptr<FairQueue> queue_;  // last: its threads use all of the above
};

BuildCoordinator::BuildCoordinator(Parts parts, uid_t own_uid, const BuildLimits& limits)
    : impl_(std::make_unique<Impl>(std::move(parts), own_uid, limits)) {}
BuildCoordinator::~BuildCoordinator() = default;

BuildCoordinator::Ticket BuildCoordinator::Build(
    std::shared_ptr<const cccl_cache::BuildRequest> request, const Peer& peer, Done done) {
  return impl_->Build(std::move(request), peer, std::move(done));
}
void BuildCoordinator::Leave(Ticket ticket) { impl_->Leave(ticket); }
void BuildCoordinator::Drain(std::chrono::milliseconds deadline) { impl_->Drain(deadline); }
BuildGauges BuildCoordinator::Gauges() const { return impl_->Gauges(); }

}  // namespace cccl_cached
