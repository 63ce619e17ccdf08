// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/run/idle_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/system/thread_name.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::chrono::milliseconds kLookAgain{100};
// Maximum number of threads. More are not needed on a node with more slots, because few hits are
// checked.
constexpr size_t kMaxThreads = 32;

// The number of copies of a request's texts: one in the request and two in its plan.
constexpr size_t kCopiesInPlan = 3;

// Returns whether each compile of the plan makes the same bytes. Without a seed, NVRTC gives
// unnamed entities new names in each compile.
bool Repeatable(const BuildPlan& plan) {
  return plan.job.request->kind() != BuildKind::kNvrtc ||
         plan.job.toolchain->capabilities.random_seed;
}

// Returns the plan that links this LTO-IR, without other inputs, to PTX. The toolchain and the
// architecture are those of `plan`, which compiled it.
BuildPlan ToLink(BuildPlan plan, const std::string& ltoir) {
  constexpr std::string_view kArchitecture = "--gpu-architecture";
  LinkProgram link;
  link.inputs = {{LinkInputType::kLtoIr, "program", ltoir}};
  auto request = std::make_shared<BuildRequest>();
  request->program = std::move(link);
  plan.job.request = std::move(request);
  std::vector<std::string> options = {"-lto", "-ptx"};
  for (const std::string& option : plan.job.options) {
    if (option.starts_with(kArchitecture)) {
      options.push_back("-arch" + option.substr(kArchitecture.size()));
    }
  }
  plan.job.options = std::move(options);
  plan.seed_missing = false;
  return plan;
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
    const size_t busy = busy_();
    const size_t room = busy < bounds_.slots ? bounds_.slots - busy : 0;
    // The oldest jobs continue; the newer jobs are stopped.
    if (running_.size() > room) {
      stopped.assign(std::next(running_.begin(), static_cast<ptrdiff_t>(room)), running_.end());
    }
  }
  for (std::stop_source& job : stopped) job.request_stop();
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
  NameThread("idle jobs");
  MutexLock lock(mutex_);
  while (changed_.Wait(mutex_, stop, [this]() REQUIRES(mutex_) { return waiting_.in_all > 0; })) {
    while (!stop.stop_requested() && !HasRoom()) {
      changed_.WaitFor(mutex_, stop, kLookAgain, [] { return false; });
    }
    if (stop.stop_requested()) return;
    if (waiting_.in_all == 0) continue;  // another thread took the job
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

std::string ShadowChecks::DifferenceOf(const Sample& sample, const Artifact& again,
                                       const CompileOrder& order, const std::stop_token& stop) {
  const Artifact& kept = *sample.flight_result.output.artifact;
  if (kept.parts.size() != again.parts.size()) return "another number of outputs";
  for (size_t i = 0; i < kept.parts.size(); ++i) {
    const ArtifactPart& one = kept.parts[i];
    const ArtifactPart& other = again.parts[i];
    if (one.kind == other.kind && one.sha256 == other.sha256) continue;
    const bool may_differ = one.precompiled && other.kind == one.kind;
    if (may_differ && LinkAlike(*sample.plan, one, other, order, stop)) continue;
    return fmt::format("output {}: kept {}, compiled again {}", i, one.sha256.Hex(),
                       other.sha256.Hex());
  }
  return kept.lowered_names == again.lowered_names ? "" : "other lowered names";
}

bool ShadowChecks::LinkAlike(const BuildPlan& plan, const ArtifactPart& kept,
                             const ArtifactPart& again, CompileOrder order,
                             const std::stop_token& stop) {
  // The entry was made by another toolchain, which has the same NVRTC and an nvJitLink.
  if (!plan.job.toolchain->nvjitlink) return true;
  order.purpose = CompilePurpose::kShadowLink;
  const FlightResult one = parts_.runner.Run(ToLink(plan, kept.bytes), order, stop);
  const FlightResult other = parts_.runner.Run(ToLink(plan, again.bytes), order, stop);
  if (one.error || other.error || one.toolchain_changed || other.toolchain_changed) return true;
  if (!one.output.succeeded || !other.output.succeeded) return false;
  return std::ranges::equal(one.output.artifact->parts, other.output.artifact->parts, {},
                            &ArtifactPart::sha256, &ArtifactPart::sha256);
}

void ShadowChecks::Check(const Sample& sample, std::stop_token stop) {
  CompileOrder order{.caller = sample.peer, .purpose = CompilePurpose::kShadowCheck};
  if (sample.files_were_sent) order.recalled = sample.answered;
  const FlightResult again = parts_.runner.Run(*sample.plan, order, stop);
  // A stopped compile, or a changed or missing file, proves nothing about the entry.
  if (again.error || again.toolchain_changed || again.closure != sample.answered->closure) return;
  const std::string difference = again.output.succeeded
                                     ? DifferenceOf(sample, *again.output.artifact, order, stop)
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

}  // namespace cccl_cache::daemon
