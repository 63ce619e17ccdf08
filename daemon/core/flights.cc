// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/flights.h"

#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "daemon/core/build_answer.h"
#include "daemon/core/path_proof.h"

namespace cccl_cached {
namespace {

using Clock = std::chrono::steady_clock;
using cccl_cache::Digest;

// What changes under three compiles in a row is being installed: answer, keep nothing.
constexpr int kMaxRestarts = 3;

Digest FlightOfView(const BuildPlan& plan) {
  cccl_cache::Hasher hasher;
  hasher.AppendValue("flight", plan.fingerprint.View());
  hasher.AppendValue("view", plan.view.View());
  return hasher.Finish();
}

Digest FlightOfUser(const BuildPlan& plan, uid_t uid) {
  cccl_cache::Hasher hasher;
  hasher.AppendValue("flight", plan.fingerprint.View());
  hasher.AppendValue("uid", uid);
  return hasher.Finish();
}

// Whether the landing is an answer to what this waiter asked.
bool Suits(const Waiter& waiter, const BuildPlan& plan, const Landing& landing) {
  if (landing.tier != TierName::kNone) return true;
  const bool same_files = waiter.plan->view == plan.view && waiter.joined_before_start;
  if (landing.looked_outside && !same_files) return false;
  if (landing.shows_paths || landing.may_show_paths) return false;
  if (!landing.uncacheable_reason.empty() && !waiter.joined_before_start) return false;
  return !landing.toolchain_changed || waiter.restarts >= kMaxRestarts;
}

FlightRunner::Parts WithPreambles(FlightRunner::Parts parts, PreamblePool* preambles) {
  parts.preambles = preambles;
  return parts;
}

}  // namespace

Flights::Flights(const Parts& parts, const Limits& limits, StartAgain start_again)
    : parts_(parts),
      start_again_(std::move(start_again)),
      preambles_(parts.compile.compiler, parts.compile.statistics, limits.compile, limits.preambles,
                 [this] { return Idle(); }),
      runner_(WithPreambles(parts.compile, &preambles_), limits.compile),
      idle_jobs_({}, [this] { return Idle(); }),
      shadow_checks_({parts.memory, runner_, idle_jobs_, parts.compile.statistics, parts.report},
                     limits.shadow_check_every),
      queue_(limits.queue, [this](uint64_t flight) { Run(flight); }) {}

void Flights::Close() {
  parts_.table.CancelAll();
  preambles_.Stop();
  idle_jobs_.Stop();
  queue_.Close();
}

void Flights::Hit(const Waiter& waiter, const Landing& hit, const Closure& closure) {
  shadow_checks_.Consider(waiter.plan, waiter.peer, hit, closure);
}

void Flights::Leave(BuildCoordinator::Ticket ticket) {
  const FlightTable::Left left = parts_.table.Leave(ticket);
  // A flight that others wait for keeps its place in the leaver's line: taking it out would race
  // with the same user's joining again.
  if (!left.last) return;
  queue_.Remove(left.flight);
  parts_.compile.statistics.Add(Counter::kCancelled);
}

// With whom a waiter waits: with anybody who asks for the same, as long as nothing comes from
// outside; else with the same user's, lest anybody keeps others waiting for a disk of his. Who
// started again because the closure was not true for him: only with those who have his files.
Digest Flights::KeyFor(const Waiter& waiter) {
  const BuildPlan& plan = *waiter.plan;
  if (waiter.restarts > 0) return FlightOfView(plan);
  return parts_.memory.LooksOutside(plan) ? FlightOfUser(plan, waiter.peer.uid) : plan.fingerprint;
}

void Flights::Join(WaiterPtr waiter) {
  const BuildCoordinator::Ticket ticket = waiter->ticket;
  const uid_t uid = waiter->peer.uid;
  const std::shared_ptr<const BuildPlan> plan = waiter->plan;
  waiter->joined = Clock::now();
  const Digest key = KeyFor(*waiter);
  const bool shared = plan->uncacheable_reason.empty();
  const FlightTable::Joined joined = parts_.table.Join(std::move(waiter), key, shared);
  if (joined.flight == 0 || joined.started) return;
  if (joined.leads && shared) {
    // Another flight of this key may have landed between our look-up and our joining.
    const std::optional<Landing> hit = parts_.memory.Find(plan->key);
    if (hit) return Land(joined.flight, plan, uid, *hit);
  }
  const Status queued = queue_.Add(joined.flight, uid);
  if (queued) return;
  FlightTable::Left left = parts_.table.TakeOutOfLine(ticket);
  if (left.waiter != nullptr) parts_.responder.Refuse(std::move(left.waiter), queued.error());
}

// One flight from its slot to its landing; runs on a slot's thread.
void Flights::Run(uint64_t flight) {
  const auto started = parts_.table.Begin(flight);
  if (!started) return;
  const BuildPlan& plan = *started->plan;
  if (started->manifest != nullptr && *parts_.memory.ManifestOf(plan) != *started->manifest) {
    // Another flight of this fingerprint has landed since the leader looked.
    for (WaiterPtr& waiter : parts_.table.Finish(flight)) start_again_(std::move(waiter));
    return;
  }
  const uid_t uid = started->peer.uid;
  FlightOrder order{.peer = started->peer};
  if (!plan.include_view) {
    order.first_question = [this, flight, uid, kept = started->plan] {
      LooksOutside(flight, *kept, uid);
    };
  }
  Land(flight, started->plan, uid, runner_.Run(plan, order, started->stop));
}

// What this flight waits for from now on are files of one user: others go their own way.
void Flights::LooksOutside(uint64_t flight, const BuildPlan& plan, uid_t uid) {
  parts_.memory.NoteLooksOutside(plan, uid);
  for (WaiterPtr& waiter : parts_.table.TakeOthers(flight, uid, FlightOfUser(plan, uid))) {
    start_again_(std::move(waiter));
  }
}

void Flights::Land(uint64_t flight, const std::shared_ptr<const BuildPlan>& plan, uid_t uid,
                   const Landing& landing) {
  parts_.memory.Keep(*plan, uid, landing);
  std::vector<WaiterPtr> waiters = parts_.table.Finish(flight);
  if (!waiters.empty()) ProveLater(*waiters.front(), plan, landing);
  for (WaiterPtr& waiter : waiters) {
    if (Suits(*waiter, *plan, landing)) {
      parts_.responder.AnswerLanding(std::move(waiter), landing);
    } else if (waiter->restarts >= kMaxRestarts) {
      parts_.responder.Answer(std::move(waiter), Unsettled());
    } else {
      ++waiter->restarts;
      start_again_(std::move(waiter));
    }
  }
}

// What was made under the real paths because its files may show them, is everybody's once it is
// proven that it does not.
void Flights::ProveLater(const Waiter& waiter, const std::shared_ptr<const BuildPlan>& plan,
                         const Landing& landing) {
  if (waiter.to_be_proven == nullptr || !landing.keepable() || !landing.output.succeeded) return;
  const size_t bytes = cccl_cache::BytesOf(*waiter.request) + landing.output.artifact->Footprint();
  idle_jobs_.Add(
      waiter.peer.uid, bytes,
      [this, proof = PathProof{plan, waiter.to_be_proven, waiter.peer, landing.output.artifact,
                               landing.closure}](std::stop_token stop) {
        const PathFinding finding = FindOut(proof, runner_, stop);
        if (finding.verdict == PathVerdict::kShown) {
          parts_.memory.NoteShowsPaths(*proof.canonical, finding.canonical.closure);
        }
        if (finding.verdict != PathVerdict::kNotShown) return;
        parts_.memory.Keep(*proof.canonical, proof.peer.uid, finding.canonical);
      });
}

}  // namespace cccl_cached
