// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/coordinator/coordinator.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "daemon/core/closure/closure.h"
#include "daemon/core/plan/build_plan.h"

namespace cccl_cache::daemon {
namespace {

using Clock = std::chrono::steady_clock;

// Maximum number of successive waits of a build because its toolchain changed on disk again while
// the daemon identified it.
constexpr int kMaxRescans = 4;
// Maximum number of questions to other nodes for a build that must not be compiled. It equals the
// limit for other builds. Each new manifest, and the change to real names, may lead to another
// artifact and thus to another question.
constexpr int kMaxPeeks = 8;
// Memory in bytes for the past builds that `explain` compares with, of all users together.
constexpr size_t kHistoryBytes = 64 << 20;
// Larger requests are planned on another thread. A request of this size, in bytes, is planned
// within about a millisecond.
constexpr size_t kLargeRequest = 256 << 10;

}  // namespace

BuildCoordinator::BuildCoordinator(Parts parts, const BuildLimits& limits)
    : parts_(std::move(parts)),
      limits_(limits),
      cache_(parts_.tiers, parts_.eviction_log, {limits.remember_failures, limits.quarantine},
             parts_.own, parts_.cluster, parts_.find_account),
      history_(kHistoryBytes),
      responder_({table_, parts_.statistics, history_, parts_.answered, parts_.observe}),
      explainer_(cache_, history_, parts_.eviction_log, parts_.answered),
      lookups_(table_, responder_, {limits.compile.time, limits.disk_patience}),
      flights_({table_,
                cache_,
                responder_,
                {.toolchains = parts_.toolchains,
                 .compiler = parts_.compiler,
                 .files = parts_.files,
                 .statistics = parts_.statistics,
                 .checks = &lookups_.files(),
                 .sent_checks = &lookups_.sent_files(),
                 .sent_contents = parts_.sent_contents},
                parts_.report,
                parts_.cluster},
               {limits.compile,
                {limits.slots, limits.queued_per_uid, limits.queued},
                limits.shadow_check_every,
                {.bytes = limits.preamble_bytes},
                {limits.memory_bytes, limits.reservable_bytes}},
               [this](BuildPtr build) {
                 build->StartAgain();
                 Advance(std::move(build));
               }) {}

BuildCoordinator::~BuildCoordinator() {
  stopping_ = true;
  lookups_.Close();
  flights_.Close();
  for (BuildPtr& build : table_.TakeAll()) responder_.Answer(std::move(build), Stopping());
}

BuildCoordinator::Ticket BuildCoordinator::Start(std::shared_ptr<const BuildRequest> request,
                                                 const Caller& caller, Done done) {
  parts_.statistics.Add(Counter::kBuilds);
  auto build = std::make_unique<Build>();
  build->request = std::move(request);
  build->peer = caller.peer;
  build->files = caller.files;
  build->done = std::move(done);
  return Enter(std::move(build));
}

BuildCoordinator::Ticket BuildCoordinator::Explain(std::shared_ptr<const BuildRequest> request,
                                                   const Peer& peer, Explainer::Done done) {
  auto build = std::make_unique<Build>();
  build->request = std::move(request);
  build->peer = peer;
  build->dry_run = std::make_unique<DryRun>(DryRun{std::move(done)});
  return Enter(std::move(build));
}

BuildCoordinator::Ticket BuildCoordinator::Enter(BuildPtr build) {
  // If a caller sends its files, its build can't continue without the caller.
  const bool finishes = build->request->on_miss == MissAction::kFinish && build->files == nullptr &&
                        build->dry_run == nullptr;
  const Ticket ticket = table_.Open(finishes);
  build->ticket = ticket;
  build->called = Clock::now();
  Advance(std::move(build));
  return ticket;
}

// Runs the steps of a build until it is answered or must wait. A step that must wait hands the
// build to the table and returns. The thread that gets the awaited value calls Advance again with
// the same step. Advance never blocks, and holds no lock between steps.
void BuildCoordinator::Advance(BuildPtr build) {
  const uid_t uid = build->peer.uid;
  while (true) switch (build->step) {
      case Step::kPlan:
        build = MakePlan(std::move(build));
        if (build == nullptr) return;
        build->step = Step::kQuarantine;
        if (build->findings.quarantine != nullptr) return AwaitQuarantine(std::move(build));
        break;
      case Step::kQuarantine:
        if (build->Take<bool>()) return responder_.AnswerQuarantined(std::move(build));
        build->step = Step::kFailure;
        if (build->findings.failure == nullptr) break;
        build->awaited = build->findings.failure->closure.entries.empty();
        if (!std::get<bool>(build->awaited)) return AwaitFailure(std::move(build));
        break;
      case Step::kFailure:
        if (build->Take<bool>()) return responder_.AnswerFailure(std::move(build));
        build->step = Step::kMemory;
        break;
      case Step::kMemory: {
        const BuildPlan& plan = *build->plan;
        if (!plan.uncacheable_reason.empty()) {
          build->step = Step::kJoin;
          break;
        }
        if (const auto hit = cache_.FindInMemory(plan.key, uid)) {
          return AnswerHit(std::move(build), *hit, {});
        }
        PlanEntry entry{.manifest = cache_.ManifestInMemory(plan, uid)};
        build->step = Step::kFiles;
        if (entry.manifest.all == nullptr) {
          if (cache_.MayWait(plan, uid)) return AwaitEntry(std::move(build));
          entry = ReadEntry(plan, uid, build->dry_run != nullptr);
        }
        build->awaited = std::move(entry);
        break;
      }
      case Step::kFiles: {
        if (auto* const entry = std::get_if<PlanEntry>(&build->awaited)) {
          if (const auto hit = std::move(entry->hit)) return AnswerHit(std::move(build), *hit, {});
          build->findings.manifest = std::move(entry->manifest);
          build->awaited = {};
        }
        const auto& manifest = build->ToCompare();
        if (manifest == nullptr || manifest->closures.empty()) {
          build->step = Step::kJoin;
          break;
        }
        build->step = Step::kClosure;
        const KnownClosure* const closure = manifest->FindTrueWith(*build->plan->job.toolchain);
        build->awaited = TrueClosure{closure};
        if (closure == nullptr) return AwaitClosure(std::move(build));
        break;
      }
      case Step::kClosure: {
        const auto found = build->Take<TrueClosure>();
        if (found.files_needed) return responder_.Answer(std::move(build), *found.files_needed);
        build->step = Step::kJoin;
        const KnownClosure* const closure = found.closure;
        build->findings.closure = closure;
        if (closure == nullptr) break;
        // Remembering this saves the client later questions about these files. It is needed only
        // for clients that send files, because the daemon opens the files of other clients by path.
        if (build->files != nullptr && !IsOfToolchain(closure->closure)) {
          cache_.NoteHad(closure->key, build->peer);
        }
        if (closure->shows_paths) break;
        build->step = Step::kArtifact;
        std::optional<FlightResult> hit = cache_.FindInMemory(closure->key, uid);
        if (!hit && cache_.MayWait(closure->key, uid)) return AwaitArtifact(std::move(build));
        build->awaited = std::move(hit);
        break;
      }
      case Step::kArtifact:
        if (const auto hit = build->Take<std::optional<FlightResult>>()) {
          const std::shared_ptr<const Manifest> owns_closure = build->ToCompare();
          const Closure& closure = build->findings.closure->closure;
          return AnswerHit(std::move(build), *hit, closure);
        }
        build->step = Step::kJoin;
        break;
      case Step::kJoin:
        if (NeedsRealNames(*build)) {
          PlanUnderRealNames(*build);
          break;
        }
        // The result is not cached, so finishing the build without its caller would be useless.
        if (!build->plan->uncacheable_reason.empty()) table_.EndWithCaller(build->ticket);
        if (build->MayBeCompiled()) {
          const Status there = CheckHeaderSet(*build->request);
          if (!there) return responder_.Answer(std::move(build), there.error());
          return flights_.Join(std::move(build));
        }
        build->step = Step::kElsewhere;
        break;
      case Step::kElsewhere:
        if (AsksElsewhere(*build)) return AwaitElsewhere(std::move(build));
        if (build->dry_run) return AwaitComparison(std::move(build));
        if (build->plan->uncacheable_reason.empty()) parts_.statistics.Add(Counter::kMisses);
        return responder_.Answer(std::move(build), NotCached());
      case Step::kExplain: {
        Explanation explanation =
            explainer_.OfMiss(*build->plan, build->findings.manifest.all.get(),
                              build->findings.closure, *build->Take<std::optional<Comparison>>());
        if (build->plan->uncacheable_reason.empty()) {
          explanation.tiers = explainer_.Tiers(TierName::kNone);
          std::ranges::copy(build->dry_run->elsewhere, std::back_inserter(explanation.tiers));
        }
        return responder_.Explain(std::move(build), std::move(explanation));
      }
    }
}

// Makes the plan of the build with the toolchain that its request selects. Returns null if the
// build was refused, or waits until the toolchain or the plan is ready.
BuildPtr BuildCoordinator::MakePlan(BuildPtr build) {
  if (build->toolchain == nullptr) {
    if (stopping_) {
      responder_.Answer(std::move(build), Stopping());
      return nullptr;
    }
    const BuildRequest& request = *build->request;
    const auto toolchain =
        parts_.toolchains.Select(request.toolchain, request.driver_version, request.kind());
    if (!toolchain) {
      AwaitToolchain(std::move(build));
      return nullptr;
    }
    if (!*toolchain) {
      responder_.Refuse(std::move(build), toolchain->error());
      return nullptr;
    }
    build->toolchain = **toolchain;
    build->rescans = 0;
  }
  const bool large = cccl_cache::BytesOf(*build->request) > kLargeRequest;
  auto planned = build->Take<std::optional<Result<BuildPlan>>>();
  if (large && !planned) {
    AwaitPlan(std::move(build));
    return nullptr;
  }
  Result<BuildPlan> plan =
      large ? *std::move(planned)
            : Plan(build->request, build->toolchain, build->peer, build->real_names);
  if (!plan) {
    responder_.Refuse(std::move(build), plan.error());
    return nullptr;
  }
  build->plan = std::make_shared<const BuildPlan>(*std::move(plan));
  build->findings.quarantine = cache_.QuarantineOf(*build->plan, build->peer.uid);
  build->findings.failure = cache_.FailureOf(*build->plan, build->peer.uid);
  return build;
}

// Parks the build until the toolchain that changed on disk has been identified. No thread waits.
void BuildCoordinator::AwaitToolchain(BuildPtr build) {
  if (build->rescans >= kMaxRescans) return responder_.Answer(std::move(build), KeepsChanging());
  ++build->rescans;
  const Ticket ticket = build->ticket;
  const std::shared_ptr<const BuildRequest> request = build->request;
  table_.Park(std::move(build));
  parts_.toolchains.WhenKnown(request->toolchain, request->driver_version, request->kind(),
                              [this, ticket] {
                                if (BuildPtr parked = table_.TakeParked(ticket))
                                  Advance(std::move(parked));
                              });
}

// Plans on another thread. Scanning and hashing a large request on this thread would delay this
// user's other calls, which share the thread.
void BuildCoordinator::AwaitPlan(BuildPtr build) {
  const auto plan = std::make_shared<std::optional<Result<BuildPlan>>>();
  auto work = [this, plan, request = build->request, toolchain = build->toolchain,
               peer = build->peer, real_names = build->real_names] {
    plan->emplace(Plan(request, toolchain, peer, real_names));
  };
  lookups_.Compute(std::move(build), std::move(work), [this, plan](BuildPtr parked) {
    parked->awaited = std::move(*plan);
    Advance(std::move(parked));
  });
}

Result<BuildPlan> BuildCoordinator::Plan(const std::shared_ptr<const BuildRequest>& request,
                                         const ToolchainPtr& toolchain, const Peer& peer,
                                         bool real_names) {
  PlanOptions options{peer.uid, real_names, own_view_};
  const auto* program = std::get_if<NvrtcProgram>(&request->program);
  if (program != nullptr && program->header_set != nullptr) {
    options.header_set = header_sets_.Of(peer, *program->header_set);
  }
  return PlanBuild(request, toolchain, options);
}

template <typename Look>
void BuildCoordinator::AwaitFiles(BuildPtr build, Look look) {
  const auto value = std::make_shared<Awaited>();
  auto work = [value, look = std::move(look), files = FilesOf(*build)] { *value = look(*files); };
  lookups_.AtFiles(std::move(build), std::move(work), [this, value](BuildPtr parked) {
    parked->awaited = std::move(*value);
    Advance(std::move(parked));
  });
}

template <typename Read>
void BuildCoordinator::AwaitDisk(BuildPtr build, Read read) {
  const auto value = std::make_shared<Awaited>();
  auto work = [value, read = std::move(read)] { *value = read(); };
  lookups_.AtDisk(
      std::move(build), std::move(work),
      [this, value](BuildPtr parked) {
        parked->awaited = std::move(*value);
        Advance(std::move(parked));
      },
      [this](BuildPtr parked) { Advance(std::move(parked)); });
}

void BuildCoordinator::AwaitQuarantine(BuildPtr build) {
  auto look = [died = build->findings.quarantine](RequesterFiles& files) {
    return died->IsStillSo(files);
  };
  AwaitFiles(std::move(build), std::move(look));
}

void BuildCoordinator::AwaitFailure(BuildPtr build) {
  auto look = [failed = build->findings.failure](RequesterFiles& files) {
    return failed->IsStillSo(files);
  };
  AwaitFiles(std::move(build), std::move(look));
}

void BuildCoordinator::AwaitEntry(BuildPtr build) {
  auto read = [this, plan = build->plan, uid = build->peer.uid,
               dry_run = build->dry_run != nullptr] { return ReadEntry(*plan, uid, dry_run); };
  AwaitDisk(std::move(build), std::move(read));
}

void BuildCoordinator::AwaitArtifact(BuildPtr build) {
  auto read = [this, key = build->findings.closure->key, uid = build->peer.uid,
               dry_run = build->dry_run != nullptr] { return ReadArtifact(key, uid, dry_run); };
  AwaitDisk(std::move(build), std::move(read));
}

std::shared_ptr<RequesterFiles> BuildCoordinator::FilesOf(const Build& build) const {
  return OpenFiles(parts_.files, {build.peer, build.files}, build.plan->directories);
}

PlanEntry BuildCoordinator::ReadEntry(const BuildPlan& plan, uid_t uid, bool dry_run) {
  PlanEntry entry{.hit = ReadArtifact(plan.key, uid, dry_run)};
  if (!entry.hit) entry.manifest = cache_.ManifestOf(plan, uid);
  return entry;
}

// Returns the artifact and copies it to faster tiers. A dry run gets only the tier, and nothing is
// copied.
std::optional<FlightResult> BuildCoordinator::ReadArtifact(const Digest& key, uid_t uid,
                                                           bool dry_run) {
  if (!dry_run) return cache_.Find(key, uid);
  const std::optional<TierName> tier = cache_.WhereIs(key, uid);
  if (!tier) return std::nullopt;
  FlightResult where;
  where.tier = *tier;
  return where;
}

void BuildCoordinator::AwaitClosure(BuildPtr build) {
  const std::shared_ptr<const Manifest> manifest = build->ToCompare();
  // If the daemon can't read a file, callers that can send it are asked for it, and a dry run goes
  // on.
  const bool must_be_readable = build->files == nullptr && build->dry_run == nullptr;
  auto look = [manifest, whose = cache_.WhoseClosures(*manifest, build->peer.uid),
               must_be_readable](RequesterFiles& files) {
    TrueClosure found{.closure = manifest->FindTrue(files, whose)};
    if (found.closure == nullptr && must_be_readable) {
      // Before it needs this file, the compiler would get the answers that the closure records. So
      // it is already known that it will need this file.
      found.files_needed = FilesNeededFor(manifest->closures.front().closure, files);
    }
    return found;
  };
  AwaitFiles(std::move(build), std::move(look));
}

// Returns whether the output contains paths or may contain them, so that the build must be looked
// up with its real paths before it joins a flight.
bool BuildCoordinator::NeedsRealNames(const Build& build) {
  if (build.plan->path_dependent) return false;
  return build.shows_paths ||
         cache_.MayShowPaths(*build.plan, build.peer.uid, build.findings.closure);
}

void BuildCoordinator::PlanUnderRealNames(Build& build) {
  build.real_names = true;
  build.PlanAgain();
}

bool BuildCoordinator::AsksElsewhere(Build& build) const {
  if (parts_.cluster == nullptr) {
    if (build.dry_run) {
      build.dry_run->elsewhere = {{TierName::kRemote, TierFinding::kNotConfigured}};
    }
    return false;
  }
  const KnownClosure* const closure = build.findings.closure;
  const Digest& artifact = closure == nullptr ? build.plan->key : closure->key;
  if (!build.plan->uncacheable_reason.empty() || build.questions.last_peek == artifact)
    return false;
  build.questions.last_peek = artifact;
  return build.questions.peeks++ < kMaxPeeks;
}

void BuildCoordinator::AwaitElsewhere(BuildPtr build) {
  const Ticket ticket = build->ticket;
  const BuildPlan& plan = *build->plan;
  Cluster::Question question{.entries = {ArtifactNameOf(plan, *build->questions.last_peek)},
                             .account = build->peer.account(),
                             .usual_time = flights_.UsualTime(build->request->kind()),
                             .counted = build->dry_run == nullptr};
  if (build->findings.closure == nullptr) question.entries.push_back(ManifestNameOf(plan));
  table_.Park(std::move(build));
  parts_.cluster->Peek(std::move(question), [this, ticket](Cluster::Peeked peeked) {
    BuildPtr parked = table_.TakeParked(ticket);
    if (parked == nullptr) return;
    if (parked->dry_run) {
      ExplainElsewhere(std::move(parked), std::move(peeked));
    } else {
      TakeElsewhere(std::move(parked), peeked);
    }
  });
}

// Stores the entries that other nodes sent. Then continues the build, and looks it up again if the
// new entries may make it a hit.
void BuildCoordinator::TakeElsewhere(BuildPtr build, const Cluster::Peeked& peeked) {
  const Digest key = *build->questions.last_peek;
  const SharedEntry none;
  const ArtifactPtr& artifact = (peeked.found.empty() ? none : peeked.found.front()).artifact;
  const auto& manifest = (peeked.found.empty() ? none : peeked.found.back()).manifest;
  if (artifact != nullptr) {
    cache_.AddFromElsewhere(key, artifact, peeked.tier);
    build->questions.fetched = {.key = key, .tier = peeked.tier};
  }
  const Manifest* const known = build->findings.manifest.shared.get();
  const bool merged = manifest != nullptr && cache_.MergeManifest(*build->plan, *manifest, known);
  if (artifact != nullptr || merged) build->StartAgain();
  Advance(std::move(build));
}

void BuildCoordinator::ExplainElsewhere(BuildPtr build, Cluster::Peeked peeked) {
  std::vector<TierLook>& looks = build->dry_run->elsewhere;
  looks = std::move(peeked.before);
  looks.push_back({peeked.tier, peeked.finding, std::move(peeked.reason)});
  if (peeked.finding == TierFinding::kHasIt) {
    Explanation hit = explainer_.OfHit(peeked.tier);
    std::ranges::move(looks, std::back_inserter(hit.tiers));
    return responder_.Explain(std::move(build), std::move(hit));
  }
  if (!peeked.found.empty() && peeked.found.back().manifest != nullptr) {
    // Which artifact is right depends on the caller's files. If one of these closures matches them,
    // the other nodes are asked for the artifact of this closure.
    build->dry_run->manifest =
        BuildCache::ReadManifest(*build->plan, *peeked.found.back().manifest);
    build->step = Step::kFiles;
  }
  Advance(std::move(build));
}

TierLook BuildCoordinator::NotAskedElsewhere() const {
  if (parts_.cluster == nullptr) return {TierName::kRemote, TierFinding::kNotConfigured};
  return {TierName::kRemote, TierFinding::kNotAsked, "explain with the command line asks it"};
}

void BuildCoordinator::AwaitComparison(BuildPtr build) {
  build->step = Step::kExplain;
  Comparison comparison = explainer_.Compare(*build->plan, build->peer.uid);
  if (build->findings.closure != nullptr || !build->plan->uncacheable_reason.empty()) {
    build->awaited = std::optional(std::move(comparison));
    return Advance(std::move(build));
  }
  AwaitFiles(std::move(build), [comparison = std::move(comparison)](RequesterFiles& files) {
    Comparison looked = comparison;
    looked.LookAt(files);
    return std::optional(std::move(looked));
  });
}

void BuildCoordinator::AnswerHit(BuildPtr build, const FlightResult& hit, const Closure& closure) {
  if (build->dry_run) return responder_.Explain(std::move(build), explainer_.OfHit(hit.tier));
  // A shadow check verifies an entry that several users share. An entry that one user inserted
  // serves only this user, so it is not checked. Without its header set, a build can't be.
  const bool checkable = !hit.private_to_user && CheckHeaderSet(*build->request).ok();
  if (checkable) flights_.Hit(*build, hit, closure);
  responder_.AnswerHit(std::move(build), hit, closure);
}

void BuildCoordinator::ExplainKey(const DigestPrefix& key, const Peer& peer, Explainer::Done done) {
  const auto known = std::make_shared<Result<Explanation>>(Explanation{});
  const Status added = lookups_.disk().Add(
      peer.account(),
      {.look = [this, key, uid = peer.uid, known] { *known = explainer_.OfKey(key, uid); },
       .then =
           [this, done, known] {
             if (*known && !(*known)->tiers.empty() && (*known)->tier == TierName::kNone) {
               (*known)->tiers.push_back(NotAskedElsewhere());
             }
             done(std::move(*known));
           },
       .late = [this, done] { done(DiskHangs(limits_.disk_patience)); }});
  if (!added) done(added.error());
}

void BuildCoordinator::Drain(std::chrono::milliseconds deadline) {
  stopping_ = true;
  flights_.queue().StopReserving();
  table_.WaitUntilIdle(deadline);
}

}  // namespace cccl_cache::daemon
