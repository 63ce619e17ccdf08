// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/idle_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kLookAgain{100};
// As many callers may compile at once, and each may leave a proof behind.
constexpr size_t kMaxThreads = 32;

// Copies of the request's texts: in the request itself and twice in its plan.
constexpr size_t kCopiesInPlan = 3;

// Without a seed, NVRTC gives unnamed entities other names in each compile.
bool Repeatable(const BuildPlan& plan) {
  return plan.job.request->kind() != BuildKind::kNvrtc ||
         plan.job.toolchain->capabilities.random_seed;
}

// Returns what differs, for a person; empty if nothing does.
std::string DifferenceOf(const Artifact& kept, const Artifact& again) {
  if (kept.parts.size() != again.parts.size()) return "another number of outputs";
  for (size_t i = 0; i < kept.parts.size(); ++i) {
    const ArtifactPart& one = kept.parts[i];
    const ArtifactPart& other = again.parts[i];
    if (one.kind == other.kind && one.sha256 == other.sha256) continue;
    return fmt::format("output {}: kept {}, compiled again {}", i, one.sha256.Hex(),
                       other.sha256.Hex());
  }
  return kept.lowered_names == again.lowered_names ? "" : "other lowered names";
}

bool MakesIntermediateCode(std::string_view option) {
  return option.starts_with("--dlink-time-opt") || option.starts_with("--optix-ir");
}

bool SameCode(const Artifact& one, const Artifact& other) {
  return one.lowered_names == other.lowered_names &&
         std::ranges::equal(one.parts, other.parts, [](const auto& a, const auto& b) {
           return a.kind == b.kind && a.sha256 == b.sha256;
         });
}

// Returns the plan of the same program, compiled to PTX alone.
BuildPlan ToPtx(BuildPlan plan) {
  constexpr std::string_view kCubin = "--gpu-architecture=sm_";
  std::erase_if(plan.job.options, MakesIntermediateCode);
  for (std::string& option : plan.job.options) {
    if (!option.starts_with(kCubin)) continue;
    option = "--gpu-architecture=compute_" + option.substr(kCubin.size());
  }
  return plan;
}

// The lengths must differ, because a program can show the length of a name alone.
bool NamesDifferInLength(const CompileJob& one, const CompileJob& other) {
  if (one.program_name.size() == other.program_name.size()) return false;
  return std::ranges::equal(one.options, other.options, [](const auto& a, const auto& b) {
    return a == b || a.size() != b.size();
  });
}

// Compares contents alone: in which root a name is said to lie may depend on the view.
bool SameFiles(const Closure& one, const Closure& other) {
  const auto digests = [](const Closure& closure) {
    std::vector<Digest> found;
    for (const ClosureEntry& entry : closure.entries) {
      if (entry.kind == FileKind::kFile) found.push_back(entry.digest);
    }
    std::ranges::sort(found);
    return found;
  };
  return digests(one) == digests(other);
}

// A compile that runs at once if a slot is free, and else where its result is taken. It is stopped
// if nobody takes it.
class CompileAside {
 public:
  using Compile = std::function<FlightResult(const std::stop_token& stop)>;

  CompileAside(IdleJobs& idle_jobs, Compile compile, const std::stop_token& stop)
      : idle_jobs_(idle_jobs),
        has_slot_(idle_jobs.TakeSlot()),
        stopped_(stop, [this] { end_.request_stop(); }),
        // With both, it is left for later where no thread can be started.
        result_(std::async(
            has_slot_ ? std::launch::async | std::launch::deferred : std::launch::deferred,
            [compile = std::move(compile), end = end_.get_token()] { return compile(end); })) {}
  ~CompileAside() {
    end_.request_stop();
    if (!has_slot_) return;
    result_ = {};  // waits for the thread
    idle_jobs_.LeaveSlot();
  }
  CompileAside(const CompileAside&) = delete;
  CompileAside& operator=(const CompileAside&) = delete;

  FlightResult Take() { return result_.get(); }

 private:
  IdleJobs& idle_jobs_;
  const bool has_slot_;
  std::stop_source end_;
  const std::stop_callback<std::function<void()>> stopped_;
  std::future<FlightResult> result_;
};

bool Compiled(const FlightResult& flight_result) {
  return !flight_result.error && flight_result.output.succeeded && !flight_result.toolchain_changed;
}

}  // namespace

IdleJobs::IdleJobs(const Bounds& bounds, std::function<size_t()> busy)
    : bounds_(bounds), busy_(std::move(busy)) {
  for (size_t i = 0; i < std::min(bounds_.slots, kMaxThreads); ++i) {
    threads_.emplace_back([this](std::stop_token stop) { Work(stop); });
  }
}

void IdleJobs::Stop() {
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

bool IdleJobs::Add(Account account, size_t bytes, Job job) {
  {
    const MutexLock lock(mutex_);
    const auto known = users_.find(account);
    const size_t held = known == users_.end() ? 0 : known->second.bytes;
    const size_t jobs = known == users_.end() ? 0 : known->second.jobs.size();
    const Allowance allowance{bounds_.waiting_per_uid, bounds_.waiting};
    if (jobs >= allowance.Most(account, jobs, waiting_)) return false;
    if (bytes > bounds_.bytes_per_uid - held) return false;
    User& user = users_[account];
    user.jobs.push_back({account, bytes, std::move(job)});
    user.bytes += bytes;
    waiting_.Add(account, 1);
  }
  changed_.NotifyOne();
  return true;
}

void IdleJobs::MakeRoom() {
  std::vector<std::stop_source> stopped;
  {
    const MutexLock lock(mutex_);
    const size_t busy = busy_() + taken_;
    const size_t room = busy < bounds_.slots ? bounds_.slots - busy : 0;
    // The oldest jobs go on.
    if (running_.size() > room) {
      stopped.assign(std::next(running_.begin(), static_cast<ptrdiff_t>(room)), running_.end());
    }
  }
  for (std::stop_source& job : stopped) job.request_stop();
}

bool IdleJobs::TakeSlot() {
  const MutexLock lock(mutex_);
  if (!HasRoom()) return false;
  ++taken_;
  return true;
}

void IdleJobs::LeaveSlot() {
  const MutexLock lock(mutex_);
  --taken_;
}

IdleJobs::Waiting IdleJobs::TakeNext() {
  auto user = users_.upper_bound(served_);
  if (user == users_.end()) user = users_.begin();
  served_ = user->first;
  Waiting next = std::move(user->second.jobs.front());
  user->second.jobs.pop_front();
  user->second.bytes -= next.bytes;
  waiting_.Remove(next.account, 1);
  if (user->second.jobs.empty()) users_.erase(user);
  return next;
}

void IdleJobs::PutBack(Waiting job) {
  User& user = users_[job.account];
  user.bytes += job.bytes;
  waiting_.Add(job.account, 1);
  user.jobs.push_front(std::move(job));
}

void IdleJobs::Work(std::stop_token stop) {
  MutexLock lock(mutex_);
  while (changed_.Wait(mutex_, stop, [this]() REQUIRES(mutex_) { return waiting_.in_all > 0; })) {
    while (!stop.stop_requested() && !HasRoom()) {
      changed_.WaitFor(mutex_, stop, kLookAgain, [] { return false; });
    }
    if (stop.stop_requested()) return;
    if (waiting_.in_all == 0) continue;  // another thread took it
    Waiting next = TakeNext();
    const auto running = running_.emplace(running_.end());
    lock.Unlock();
    std::stop_source& in_the_way = *running;
    {
      const std::stop_callback ended(stop, [&] { in_the_way.request_stop(); });
      next.job(in_the_way.get_token());
    }
    lock.Lock();
    const bool again = in_the_way.stop_requested() && !stop.stop_requested();
    running_.erase(running);
    if (again) {
      PutBack(std::move(next));
      continue;
    }
    lock.Unlock();
    next.job = nullptr;
    lock.Lock();
  }
}

void ShadowChecks::Consider(const Hit& hit) {
  if (every_ == 0 || hits_.fetch_add(1, std::memory_order_relaxed) % every_ != every_ - 1) return;
  if (!Repeatable(*hit.plan)) return;
  const size_t bytes = kCopiesInPlan * cccl_cache::BytesOf(*hit.plan->job.request) +
                       hit.flight_result.output.artifact->Footprint() + BytesOf(hit.closure);
  parts_.idle_jobs.Add(hit.peer.account(), bytes,
                       [this, sample = Sample{hit.plan, hit.peer, hit.flight_result,
                                              Recall(*hit.plan, hit.closure), hit.files_were_sent}](
                           std::stop_token stop) { Check(sample, std::move(stop)); });
}

void ShadowChecks::Check(const Sample& sample, std::stop_token stop) {
  CompileOrder order{.caller = sample.peer, .purpose = CompilePurpose::kShadowCheck};
  if (sample.files_were_sent) order.recalled = sample.answered;
  const FlightResult again = parts_.runner.Run(*sample.plan, order, std::move(stop));
  // A compile that was ended, or a file that changed or is gone, says nothing of the entry.
  if (again.error || again.toolchain_changed || again.closure != sample.answered->closure) return;
  const Artifact& kept = *sample.flight_result.output.artifact;
  const std::string difference = again.output.succeeded ? DifferenceOf(kept, *again.output.artifact)
                                                        : "it does not compile any more";
  if (difference.empty()) return;
  parts_.cache.Drop(sample.flight_result.key);
  parts_.statistics.Add(Counter::kShadowMismatches);
  if (parts_.report) {
    parts_.report(
        fmt::format("shadow check: entry {} was dropped, it is not what its compiler "
                    "makes now; {}",
                    sample.flight_result.key.Hex(), difference));
  }
}

bool NamesPathsAnyway(const BuildPlan& plan) {
  return std::ranges::any_of(plan.job.options, MakesIntermediateCode);
}

PathFinding RunPathProof(const PathProof& proof, CompilePurpose purpose, CompileRunner& runner,
                         IdleJobs& idle_jobs, const std::stop_token& stop) {
  PathFinding finding;
  if (!NamesDifferInLength(proof.real->job, proof.canonical->job)) return finding;
  CompileOrder order{.caller = proof.caller, .purpose = purpose, .recalled = proof.recalled};
  CompileOrder part = order;
  if (purpose == CompilePurpose::kCallersProof) part.purpose = CompilePurpose::kPartOfProof;
  const auto to_ptx = [&](const BuildPlan& plan) {
    return [&runner, part, ptx = ToPtx(plan)](const std::stop_token& end) {
      return runner.Run(ptx, part, end);
    };
  };
  std::optional<CompileAside> aside_real;
  std::optional<CompileAside> aside_canonical;
  if (proof.artifact == nullptr) {
    aside_real.emplace(idle_jobs, to_ptx(*proof.real), stop);
    aside_canonical.emplace(idle_jobs, to_ptx(*proof.canonical), stop);
  }
  finding.canonical = runner.Run(*proof.canonical, order, stop);
  if (!Compiled(finding.canonical)) return finding;
  const Closure& closure = finding.canonical.closure;
  bool same = !finding.canonical.shows_paths;
  if (proof.artifact != nullptr) {
    // A file that has changed since says nothing of the names.
    if (!SameFiles(closure, proof.closure)) return finding;
    same = same && SameCode(*proof.artifact, *finding.canonical.output.artifact);
  } else if (same) {
    const FlightResult real = aside_real->Take();
    const FlightResult other = aside_canonical->Take();
    if (!Compiled(real) || !Compiled(other)) return finding;
    if (!SameFiles(closure, real.closure) || !SameFiles(closure, other.closure)) return finding;
    same = !other.shows_paths && SameCode(*real.output.artifact, *other.output.artifact);
  }
  finding.verdict = same ? PathVerdict::kNotShown : PathVerdict::kShown;
  return finding;
}

std::shared_ptr<OpenProofs::Open> OpenProofs::Add(PathProof proof) {
  const auto key = std::make_pair(proof.caller.peer.uid, proof.canonical->flight);
  const auto open = std::make_shared<Open>(Open{std::move(proof), {}});
  const MutexLock lock(mutex_);
  return open_.try_emplace(key, open).second ? open : nullptr;
}

std::shared_ptr<OpenProofs::Open> OpenProofs::Take(const BuildPlan& canonical, uid_t uid) {
  std::shared_ptr<Open> open;
  {
    const MutexLock lock(mutex_);
    const auto found = open_.find({uid, canonical.flight});
    if (found == open_.end()) return nullptr;
    open = std::move(found->second);
    open_.erase(found);
  }
  open->taken.request_stop();
  return open;
}

void OpenProofs::Remove(const std::shared_ptr<Open>& open) {
  const MutexLock lock(mutex_);
  const auto found = open_.find({open->proof.caller.peer.uid, open->proof.canonical->flight});
  if (found != open_.end() && found->second == open) open_.erase(found);
}

}  // namespace cccl_cache::daemon
