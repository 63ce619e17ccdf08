// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/build/coordinator.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "daemon/core/build/build.h"
#include "daemon/core/build/flight_table.h"
#include "daemon/core/build/flights.h"
#include "daemon/core/closure/closure.h"
#include "daemon/core/explain/explainer.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/lookup/history.h"
#include "daemon/core/model/result.h"
#include "daemon/core/plan/build_plan.h"

namespace cccl_cache::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// A build waits so often in a row for a toolchain that changed again while it was identified.
constexpr int kMaxLooks = 4;
// Memory for the builds that `explain` compares with, of all users together.
constexpr size_t kHistoryBytes = 64 << 20;
// A request of this size is planned within about a millisecond.
constexpr size_t kLargeRequest = 256 << 10;

}  // namespace

class BuildCoordinator::Impl {
 public:
  Impl(Parts parts, const BuildLimits& limits)
      : parts_(std::move(parts)),
        limits_(limits),
        cache_(parts_.tiers, parts_.eviction_log, {limits.remember_failures, limits.quarantine},
               parts_.own),
        history_(kHistoryBytes),
        responder_({table_, parts_.statistics, history_, parts_.answered, parts_.observe}),
        looks_(table_, responder_, {limits.compile.time, limits.disk_patience}),
        explainer_({parts_.toolchains, parts_.files, cache_, looks_.files(), looks_.disk(),
                    history_, parts_.eviction_log, parts_.answered},
                   {limits.compile.time, limits.disk_patience}),
        flights_({table_,
                  cache_,
                  responder_,
                  {.toolchains = parts_.toolchains,
                   .compiler = parts_.compiler,
                   .files = parts_.files,
                   .statistics = parts_.statistics,
                   .checks = &looks_.files(),
                   .sent_checks = &looks_.sent_files(),
                   .sent_contents = parts_.sent_contents},
                  parts_.report},
                 {limits.compile,
                  {limits.slots, limits.queued_per_uid, limits.queued},
                  limits.shadow_check_every,
                  {.bytes = limits.preamble_bytes}},
                 [this](WaiterPtr waiter) { Start(std::move(waiter)); }) {}

  ~Impl() {
    stopping_ = true;
    looks_.Close();
    flights_.Close();
    for (WaiterPtr& waiter : table_.TakeAll()) responder_.Answer(std::move(waiter), Stopping());
  }

  Ticket Build(std::shared_ptr<const BuildRequest> request, const Caller& caller, Done done) {
    parts_.statistics.Add(Counter::kBuilds);
    auto waiter = std::make_unique<Waiter>();
    const Ticket ticket = table_.Open();
    waiter->ticket = ticket;
    waiter->request = std::move(request);
    waiter->peer = caller.peer;
    waiter->files = caller.files;
    waiter->done = std::move(done);
    waiter->called = Clock::now();
    Start(std::move(waiter));
    return ticket;
  }

  void Leave(Ticket ticket) { flights_.Leave(ticket); }

  void Drain(std::chrono::milliseconds deadline) {
    stopping_ = true;
    table_.WaitUntilIdle(deadline);
  }

  BuildGauges Gauges() const { return flights_.Gauges(); }

  [[nodiscard]] const Explainer& explainer() const { return explainer_; }
  BuildCache& cache() { return cache_; }

 private:
  // The main path: plan, look up, join.
  void Start(WaiterPtr waiter) {
    if (stopping_) return responder_.Answer(std::move(waiter), Stopping());
    const BuildRequest& request = *waiter->request;
    const std::optional<Result<ToolchainPtr>> toolchain =
        parts_.toolchains.Select(request.toolchain, request.driver_version, request.kind());
    if (!toolchain) return StartLater(std::move(waiter));
    if (!*toolchain) return responder_.Refuse(std::move(waiter), toolchain->error());
    waiter->looks = 0;
    waiter->to_be_proven = nullptr;
    if (cccl_cache::BytesOf(request) > kLargeRequest)
      return PlanLarge(std::move(waiter), **toolchain);
    if (const std::optional<Error> refused = MakePlan(waiter.get(), **toolchain, false)) {
      return responder_.Refuse(std::move(waiter), *refused);
    }
    LookUpPlan(std::move(waiter));
  }

  // Plans on another thread. Scanning and hashing a large request here would hold up this user's
  // other calls, for one thread serves them all.
  void PlanLarge(WaiterPtr waiter, const ToolchainPtr& toolchain) {
    const auto plan = std::make_shared<std::optional<Result<BuildPlan>>>();
    auto make = [plan, toolchain, request = waiter->request, uid = waiter->peer.uid,
                 view = own_view_] {
      plan->emplace(PlanBuild(request, toolchain, {uid, false, view}));
    };
    looks_.Compute(std::move(waiter), std::move(make), [this, plan](WaiterPtr parked) {
      Result<BuildPlan>& made = **plan;
      if (!made) return responder_.Refuse(std::move(parked), made.error());
      parked->plan = std::make_shared<const BuildPlan>(*std::move(made));
      LookUpPlan(std::move(parked));
    });
  }

  // A build that the compiler died on is not tried again as long as its files are the same.
  void LookUpPlan(WaiterPtr waiter) {
    const QuarantinedPtr died = cache_.QuarantineOf(*waiter->plan, waiter->peer.uid);
    if (died == nullptr) return LookUpKept(std::move(waiter));
    const auto still_so = std::make_shared<bool>(false);
    auto look = [still_so, died, files = FilesOf(*waiter)] { *still_so = died->IsStillSo(*files); };
    looks_.AtFiles(std::move(waiter), std::move(look), [this, still_so, died](WaiterPtr parked) {
      if (*still_so) return responder_.Answer(std::move(parked), died->NotTriedAgain());
      LookUpKept(std::move(parked));
    });
  }

  // Looks for a remembered or stored result: in memory here, on the disk on a thread that may wait.
  void LookUpKept(WaiterPtr waiter) {
    if (TryToAnswer(&waiter)) return;
    const BuildPlan& plan = *waiter->plan;
    const uid_t uid = waiter->peer.uid;
    if (!plan.uncacheable_reason.empty()) return LookFurther(std::move(waiter), nullptr);
    waiter->manifest = cache_.ManifestInMemory(plan, uid);
    if (waiter->manifest.all != nullptr) return CheckFiles(std::move(waiter));
    if (!cache_.MayWait(plan, uid)) return GoOn(std::move(waiter), Read(plan, uid));
    const auto kept = std::make_shared<Kept>();
    auto read = [this, kept, plan = waiter->plan, uid] { *kept = Read(*plan, uid); };
    looks_.AtDisk(
        std::move(waiter), std::move(read),
        [this, kept](WaiterPtr parked) { GoOn(std::move(parked), std::move(*kept)); },
        [this](WaiterPtr parked) { GoOn(std::move(parked), Kept{}); });
  }

  // The entry of a plan: an artifact, or else the manifest of its files.
  struct Kept {
    std::optional<FlightResult> hit = std::nullopt;
    UsersManifest manifest = {};
  };

  // Blocks on the disk.
  Kept Read(const BuildPlan& plan, uid_t uid) {
    Kept kept{.hit = cache_.Find(plan.key, uid)};
    if (!kept.hit) kept.manifest = cache_.ManifestOf(plan, uid);
    return kept;
  }

  void GoOn(WaiterPtr waiter, Kept kept) {
    if (kept.hit) return AnswerHit(std::move(waiter), *kept.hit, {});
    waiter->manifest = std::move(kept.manifest);
    CheckFiles(std::move(waiter));
  }

  // If the answer depends on files, goes on once they have been looked at.
  void CheckFiles(WaiterPtr waiter) {
    const std::shared_ptr<const Manifest> manifest = waiter->manifest.all;
    if (manifest == nullptr) return LookFurther(std::move(waiter), nullptr);
    if (manifest->closures.empty()) return LookFurther(std::move(waiter), nullptr);
    if (const KnownClosure* known = manifest->FindTrueWith(*waiter->plan->job.toolchain)) {
      return Checked(std::move(waiter), known);
    }
    const auto found = std::make_shared<Found>();
    const bool sends = waiter->files != nullptr;
    auto look = [found, manifest, whose = cache_.WhoseClosures(*manifest, waiter->peer.uid), sends,
                 files = FilesOf(*waiter)] {
      found->closure = manifest->FindTrue(*files, whose);
      if (found->closure != nullptr || sends) return;
      // The compiler would end with this error: up to there it would get the same answers as
      // before.
      found->files_needed = FilesNeededFor(manifest->closures.front().closure, *files);
    };
    looks_.AtFiles(std::move(waiter), std::move(look), [this, found](WaiterPtr parked) {
      if (found->files_needed) return responder_.Answer(std::move(parked), *found->files_needed);
      Checked(std::move(parked), found->closure);
    });
  }

  [[nodiscard]] std::shared_ptr<RequesterFiles> FilesOf(const Waiter& waiter) const {
    return OpenFiles(parts_.files, {waiter.peer, waiter.files}, waiter.plan->directories);
  }

  // The result of a look at a waiter's files.
  struct Found {
    const KnownClosure* closure = nullptr;  ///< of the manifest: the one that is true
    std::optional<Error> files_needed = std::nullopt;
  };

  // `closure`: the one that is true, or null.
  void Checked(WaiterPtr waiter, const KnownClosure* closure) {
    const uid_t uid = waiter->peer.uid;
    // A caller whose files are opened by path is asked for nothing, so its hits need no note.
    if (closure != nullptr && waiter->files != nullptr && !IsOfToolchain(closure->closure)) {
      cache_.NoteHad(closure->key, waiter->peer);
    }
    if (closure == nullptr || closure->shows_paths) return LookFurther(std::move(waiter), closure);
    if (const auto hit = cache_.FindInMemory(closure->key, uid)) {
      return AnswerHit(std::move(waiter), *hit, closure->closure);
    }
    if (!cache_.MayWait(closure->key, uid)) return LookFurther(std::move(waiter), closure);
    const auto hit = std::make_shared<std::optional<FlightResult>>();
    // The waiter's manifest owns the closure, and neither callback runs without the waiter.
    auto read = [this, hit, key = closure->key, uid] { *hit = cache_.Find(key, uid); };
    looks_.AtDisk(
        std::move(waiter), std::move(read),
        [this, hit, closure](WaiterPtr parked) {
          if (*hit) return AnswerHit(std::move(parked), **hit, closure->closure);
          LookFurther(std::move(parked), closure);
        },
        [this, closure](WaiterPtr parked) { LookFurther(std::move(parked), closure); });
  }

  // Joins a flight. If the output shows paths, or may, looks the build up under its real paths
  // first.
  void LookFurther(WaiterPtr waiter, const KnownClosure* closure) {
    const BuildPlan& plan = *waiter->plan;
    const bool known_to_show = waiter->shows_paths || (closure != nullptr && closure->shows_paths);
    const bool may_show =
        waiter->shows_paths || cache_.MayShowPaths(plan, waiter->peer.uid, closure);
    if (plan.path_dependent || !may_show) {
      if (plan.uncacheable_reason.empty() && !std::exchange(waiter->missed, true)) {
        parts_.statistics.Add(Counter::kMisses);
      }
      return flights_.Join(std::move(waiter));
    }
    waiter->to_be_proven = known_to_show ? nullptr : waiter->plan;
    waiter->known_of_that = waiter->manifest.shared;
    const ToolchainPtr toolchain = waiter->plan->job.toolchain;
    if (const std::optional<Error> refused = MakePlan(waiter.get(), toolchain, true)) {
      return responder_.Refuse(std::move(waiter), *refused);
    }
    LookUpPlan(std::move(waiter));
  }

  // Waits, without a thread, until what changed on disk has been identified.
  void StartLater(WaiterPtr waiter) {
    if (waiter->looks >= kMaxLooks) return responder_.Answer(std::move(waiter), KeepsChanging());
    ++waiter->looks;
    const Ticket ticket = waiter->ticket;
    const std::shared_ptr<const BuildRequest> request = waiter->request;
    table_.Park(std::move(waiter));
    parts_.toolchains.WhenKnown(request->toolchain, request->driver_version, request->kind(),
                                [this, ticket] {
                                  if (WaiterPtr parked = table_.TakeParked(ticket))
                                    Start(std::move(parked));
                                });
  }

  std::optional<Error> MakePlan(Waiter* waiter, const ToolchainPtr& toolchain,
                                bool force_path_dependent) {
    Result<BuildPlan> plan =
        PlanBuild(waiter->request, toolchain, {waiter->peer.uid, force_path_dependent, own_view_});
    if (!plan) return plan.error();
    waiter->plan = std::make_shared<const BuildPlan>(*std::move(plan));
    return std::nullopt;
  }

  // Answers from remembered failures or from memory. If so, takes the waiter and returns true.
  bool TryToAnswer(WaiterPtr* waiter) {
    const BuildPlan& plan = *(*waiter)->plan;
    if (!plan.uncacheable_reason.empty()) return false;
    if (auto failure = cache_.FailureOf(plan)) {
      parts_.statistics.Add(Counter::kRememberedFailures);
      BuildAnswer answer = AnswerOf(*(*waiter)->plan, *failure);
      answer.remembered = true;
      responder_.Answer(std::move(*waiter), std::move(answer));
      return true;
    }
    const std::optional<FlightResult> hit = cache_.FindInMemory(plan.key, (*waiter)->peer.uid);
    if (hit) AnswerHit(std::move(*waiter), *hit, {});
    return hit.has_value();
  }

  void AnswerHit(WaiterPtr waiter, const FlightResult& hit, const Closure& closure) {
    // An artifact that a user inserted says nothing of what other users have, so it is not checked.
    if (!hit.private_to_user) flights_.Hit(*waiter, hit, closure);
    responder_.AnswerHit(std::move(waiter), hit, closure);
  }

  const Parts parts_;
  const BuildLimits limits_;
  const std::optional<FilesView> own_view_ = FilesViewOfThisThread();
  std::atomic<bool> stopping_{false};
  FlightTable table_;
  BuildCache cache_;
  BuildHistory history_;
  Responder responder_;
  AsyncLookups looks_;  // its threads use all members until it is closed
  const Explainer explainer_;
  Flights flights_;  // last: its threads use all of the above
};

BuildCoordinator::BuildCoordinator(Parts parts, const BuildLimits& limits)
    : impl_(std::make_unique<Impl>(std::move(parts), limits)) {}
BuildCoordinator::~BuildCoordinator() = default;

BuildCoordinator::Ticket BuildCoordinator::Build(std::shared_ptr<const BuildRequest> request,
                                                 const Caller& caller, Done done) {
  return impl_->Build(std::move(request), caller, std::move(done));
}
void BuildCoordinator::Leave(Ticket ticket) { impl_->Leave(ticket); }
void BuildCoordinator::Drain(std::chrono::milliseconds deadline) { impl_->Drain(deadline); }
const Explainer& BuildCoordinator::explainer() const { return impl_->explainer(); }
BuildCache& BuildCoordinator::cache() { return impl_->cache(); }
BuildGauges BuildCoordinator::Gauges() const { return impl_->Gauges(); }

}  // namespace cccl_cache::daemon
