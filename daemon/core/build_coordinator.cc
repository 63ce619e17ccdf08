// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/build_coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "daemon/core/build_answer.h"
#include "daemon/core/build_plan.h"
#include "daemon/core/closure.h"
#include "daemon/core/failure_memory.h"
#include "daemon/core/fair_queue.h"
#include "daemon/core/file_checks.h"
#include "daemon/core/flight_runner.h"
#include "daemon/core/flight_table.h"
#include "daemon/core/idle_jobs.h"
#include "daemon/core/manifest_table.h"
#include "daemon/core/path_proof.h"

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

Digest UsersFlight(const BuildPlan& plan, uid_t uid) {
  cccl_cache::Hasher hasher;
  hasher.AppendValue("flight", plan.fingerprint.View());
  hasher.AppendValue("uid", uid);
  return hasher.Finish();
}

Digest PathsLikelyKey(uid_t uid, const BuildPlan& plan) {
  cccl_cache::Hasher hasher;
  hasher.AppendValue("paths likely", plan.fingerprint.View());
  hasher.AppendValue("uid", uid);
  return hasher.Finish();
}

Digest QuarantineKey(uid_t uid, const BuildPlan& plan) {
  cccl_cache::Hasher hasher;
  hasher.AppendValue("uid", uid);
  hasher.AppendValue("fingerprint", plan.fingerprint.View());
  hasher.AppendValue("view", plan.view.View());
  return hasher.Finish();
}

// Whether a compile of this plan will surely ask for files outside the toolchain.
bool SurelyLooksOutside(const BuildPlan& plan) { return plan.include_view.has_value(); }

}  // namespace

class BuildCoordinator::Impl {
 public:
  Impl(Parts parts, uid_t own_uid, const BuildLimits& limits)
      : parts_(std::move(parts)),
        own_uid_(own_uid),
        limits_(limits),
        manifests_(parts_.tiers),
        failures_(limits.remember_failures, kFailureBytes, Clock::now),
        quarantine_(limits.quarantine, kQuarantineBytes, Clock::now),
        looks_outside_(kLooksOutsideLifetime, kLooksOutsideBytes, Clock::now),
        paths_likely_(kLooksOutsideLifetime, kLooksOutsideBytes, Clock::now),
        runner_({parts_.toolchains, parts_.compiler, parts_.files, parts_.statistics},
                limits.compile),
        queue_(std::make_unique<FairQueue>(
            FairQueue::Bounds{limits.slots, limits.queued_per_uid, limits.queued},
            [this](uint64_t flight) { Run(flight); })),
        idle_jobs_(std::make_unique<IdleJobs>(
            [this] { return queue_->running() == 0 && queue_->waiting() == 0; })),
        checks_(std::make_unique<FileChecks>(FileChecks::Bounds{})) {}

  ~Impl() {
    stopping_ = true;
    flights_.CancelAll();
    checks_.reset();
    idle_jobs_.reset();
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
    LookUpPlan(std::move(waiter));
  }

  // From what is remembered or stored; where that depends on files, once these have been looked at.
  void LookUpPlan(WaiterPtr waiter) {
    if (TryToAnswer(&waiter)) return;
    const BuildPlan& plan = *waiter->plan;
    if (!plan.uncacheable_reason.empty()) return JoinFlight(std::move(waiter));
    waiter->manifest = manifests_.Find(plan.fingerprint);
    if (waiter->manifest->closures.empty()) return LookFurther(std::move(waiter));
    const uid_t uid = waiter->peer.uid;
    const auto kept = std::make_shared<WaiterPtr>(std::move(waiter));
    const Status added = checks_->Add(uid, CheckOf(**kept, kept));
    if (!added) Refuse(std::move(*kept), added.error());
  }

  // Which of the manifest's closures is true for this waiter.
  FileChecks::Check CheckOf(const Waiter& waiter, const std::shared_ptr<WaiterPtr>& kept) {
    return [this, kept, plan = waiter.plan, manifest = waiter.manifest,
            files = std::shared_ptr<RequesterFiles>(
                parts_.files.Of(waiter.peer, waiter.plan->directories))]() -> FileChecks::Then {
      const auto found = std::ranges::find_if(manifest->closures, [&](const Closure& closure) {
        return FirstUntrue(closure, *files) == closure.entries.size();
      });
      const Closure* closure = found == manifest->closures.end() ? nullptr : &*found;
      return [this, kept, manifest, closure] { Checked(std::move(*kept), closure); };
    };
  }

  void Checked(WaiterPtr waiter, const Closure* closure) {
    Landing hit;
    if (closure != nullptr && LookUp(KeyOf(waiter->plan->fingerprint, *closure), &hit)) {
      hit.closure = *closure;
      return AnswerHit(std::move(waiter), hit);
    }
    LookFurther(std::move(waiter));
  }

  // What shows paths, or may show them, is known under the real ones.
  void LookFurther(WaiterPtr waiter) {
    if (waiter->plan->path_dependent || !WantsRealPaths(*waiter)) {
      parts_.statistics.Add(Counter::kMisses);
      return JoinFlight(std::move(waiter));
    }
    if (!waiter->manifest->shows_paths) waiter->to_be_proven = waiter->plan;
    const ToolchainPtr toolchain = waiter->plan->job.toolchain;
    if (const std::optional<Error> refused = MakePlan(waiter.get(), toolchain, true)) {
      return Refuse(std::move(waiter), *refused);
    }
    LookUpPlan(std::move(waiter));
  }

  bool WantsRealPaths(const Waiter& waiter) {
    const BuildPlan& plan = *waiter.plan;
    if (plan.job.request->kind() != cccl_cache::BuildKind::kNvrtc) return false;
    return waiter.manifest->shows_paths ||
           paths_likely_.Find(PathsLikelyKey(waiter.peer.uid, plan)).has_value() ||
           (plan.include_view && paths_likely_.Find(*plan.include_view).has_value());
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
        PlanBuild(waiter->request, toolchain,
                  {waiter->peer.uid, waiter->peer.uid == own_uid_, force_path_dependent});
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
    answer.key = KeyOf(waiter->plan->fingerprint, hit.closure);
    answer.outcome = Outcome::kHit;
    answer.tier = hit.tier;
    Answer(std::move(waiter), std::move(answer));
  }

  // With whom a waiter waits: with anybody who asks for the same, as long as nothing comes from
  // outside; else with the same user's, lest anybody keeps others waiting for a disk of his. Who
  // started again because the closure was not true for him: only with those who have his files.
  Digest FlightKey(const Waiter& waiter) {
    const BuildPlan& plan = *waiter.plan;
    if (waiter.restarts > 0) return Combine(plan.fingerprint, plan.view);
    if (!SurelyLooksOutside(plan) && !looks_outside_.Find(plan.fingerprint)) {
      return plan.fingerprint;
    }
    return UsersFlight(plan, waiter.peer.uid);
  }

  void JoinFlight(WaiterPtr waiter) {
    const Ticket ticket = waiter->ticket;
    const uid_t uid = waiter->peer.uid;
    const std::shared_ptr<const BuildPlan> plan = waiter->plan;
    waiter->joined = Clock::now();
    const Digest key = FlightKey(*waiter);
    const bool shared = plan->uncacheable_reason.empty();
    const FlightTable::Joined joined = flights_.Join(std::move(waiter), key, shared);
    if (joined.flight == 0 || joined.started) return;
    Landing hit;
    // Another flight of this key may have landed between our look-up and our joining.
    if (joined.leads && plan->uncacheable_reason.empty() && LookUp(plan->key, &hit)) {
      return Land(joined.flight, plan, uid, hit);
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
    const BuildPlan& plan = *started->plan;
    if (started->manifest != nullptr && *manifests_.Find(plan.fingerprint) != *started->manifest) {
      // Another flight of this fingerprint has landed since the leader looked.
      for (WaiterPtr& waiter : flights_.Finish(flight)) Start(std::move(waiter));
      return;
    }
    const uid_t uid = started->peer.uid;
    FlightOrder order{.peer = started->peer};
    if (!SurelyLooksOutside(plan)) {
      order.first_question = [this, flight, uid, kept = started->plan] {
        LooksOutside(flight, *kept, uid);
      };
    }
    Land(flight, started->plan, uid, runner_.Run(plan, order, started->stop));
  }

  // What this flight waits for from now on are files of one user: others go their own way.
  void LooksOutside(uint64_t flight, const BuildPlan& plan, uid_t uid) {
    looks_outside_.Remember(plan.fingerprint, uid, true, 0);
    for (WaiterPtr& waiter : flights_.TakeOthers(flight, uid, UsersFlight(plan, uid))) {
      Start(std::move(waiter));
    }
  }

  void Land(uint64_t flight, const std::shared_ptr<const BuildPlan>& plan, uid_t uid,
            const Landing& landing) {
    Keep(*plan, uid, landing);
    std::vector<WaiterPtr> waiters = flights_.Finish(flight);
    if (!waiters.empty()) ProveLater(*waiters.front(), plan, landing);
    for (WaiterPtr& waiter : waiters) {
      if (Suits(*waiter, *plan, landing)) {
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
    if (landing.shows_paths) manifests_.MarkShowsPaths(plan.fingerprint);
    if (landing.may_show_paths) {
      paths_likely_.Remember(PathsLikelyKey(uid, plan), uid, true, 0);
      if (plan.include_view) paths_likely_.Remember(*plan.include_view, uid, true, 0);
    }
    if (!landing.keepable()) return;
    if (landing.output.succeeded) {
      StoreBuilt(plan.fingerprint, landing);
    } else if (const size_t log = landing.output.artifact->log.size();
               log <= kRememberedLogBytes && !landing.looked_outside) {
      failures_.Remember(plan.fingerprint, uid, landing.output, log);
    }
  }

  void StoreBuilt(const Digest& fingerprint, const Landing& landing) {
    Store(KeyOf(fingerprint, landing.closure), landing.output.artifact);
    if (!landing.closure.entries.empty()) manifests_.Add(fingerprint, landing.closure);
  }

  // What was made under the real paths because its files may show them, is everybody's once it is
  // proven that it does not.
  void ProveLater(const Waiter& waiter, const std::shared_ptr<const BuildPlan>& plan,
                  const Landing& landing) {
    if (waiter.to_be_proven == nullptr || !landing.keepable() || !landing.output.succeeded) return;
    idle_jobs_->Add([this, proof = PathProof{plan, waiter.to_be_proven, waiter.peer,
                                             landing.output.artifact}](std::stop_token stop) {
      const PathFinding finding = FindOut(proof, runner_, stop);
      const Digest& fingerprint = proof.canonical->fingerprint;
      if (finding.verdict == PathVerdict::kShown) {
        manifests_.MarkShowsPaths(fingerprint);
      } else if (finding.verdict == PathVerdict::kNotShown && finding.canonical.keepable()) {
        StoreBuilt(fingerprint, finding.canonical);
      }
    });
  }

  void Store(const Digest& key, const ArtifactPtr& artifact) {
    for (Tier* tier : parts_.tiers) tier->Put(key, artifact);
  }

  // Whether the landing is an answer to what this waiter asked.
  static bool Suits(const Waiter& waiter, const BuildPlan& plan, const Landing& landing) {
    if (landing.tier != TierName::kNone) return true;
    const bool same_files = waiter.plan->view == plan.view && waiter.joined_before_start;
    if (landing.looked_outside && !same_files) return false;
    if (landing.shows_paths || landing.may_show_paths) return false;
    if (!landing.uncacheable_reason.empty() && !waiter.joined_before_start) return false;
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
  ManifestTable manifests_;
  FailureMemory<CompileOutput> failures_;  // by fingerprint
  FailureMemory<Error> quarantine_;        // by uid, fingerprint and view
  FailureMemory<bool> looks_outside_;      // fingerprints whose compiles asked for outside files
  FailureMemory<bool> paths_likely_;       // fingerprints and sets of -I whose files name paths
  FlightRunner runner_;
  // Last, as their threads use all of the above, and each those before it.
  std::unique_ptr<FairQueue> queue_;
  std::unique_ptr<IdleJobs> idle_jobs_;
  std::unique_ptr<FileChecks> checks_;
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
