// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/calls/batch_ledger.h"

#include <algorithm>
#include <utility>

namespace cccl_cache {

namespace {

Deadline::Clock::time_point LateAt(const BuildLedger::Build& build) {
  return (build.here ? build.deadline : build.patience).moment();
}

}  // namespace

uint64_t BuildLedger::Add(Build build) {
  soonest_ = std::min(soonest_, LateAt(build));
  builds_.emplace(++last_number_, std::move(build));
  return last_number_;
}

BuildLedger::Build* BuildLedger::Find(uint64_t number) {
  const auto found = builds_.find(number);
  return found == builds_.end() ? nullptr : &found->second;
}

BuildLedger::Build* BuildLedger::FindAsked(uint64_t number) {
  Build* build = Find(number);
  return build == nullptr || build->here ? nullptr : build;
}

std::vector<uint64_t> BuildLedger::WithTag(uint64_t tag) const {
  std::vector<uint64_t> numbers;
  for (const auto& [number, build] : builds_) {
    if (build.tag == tag) numbers.push_back(number);
  }
  return numbers;
}

std::vector<uint64_t> BuildLedger::Late(Clock::time_point now) {
  std::vector<uint64_t> numbers;
  if (now < soonest_) return numbers;
  soonest_ = Clock::time_point::max();
  for (const auto& [number, build] : builds_) {
    if (LateAt(build) <= now) {
      numbers.push_back(number);
    } else {
      soonest_ = std::min(soonest_, LateAt(build));
    }
  }
  return numbers;
}

void BuildLedger::Finish(uint64_t number, Expected<BuildReply> reply) {
  auto taken = builds_.extract(number);
  Build& build = taken.mapped();
  if (!reply.ok()) return AddFinished({build.tag, std::move(reply).error()});
  auto shared = std::make_shared<const BuildReply>(*std::move(reply));
  // It is unknown when the daemon found the result. To be safe, the entry expires as if that was at
  // the start of the build.
  memory_.Keep(std::move(build.name), shared, build.start);
  AddReply(build, std::move(shared), {});
}

void BuildLedger::KeepHere(uint64_t number) {
  Build& build = *Find(number);
  build.here = true;
  soonest_ = std::min(soonest_, LateAt(build));
}

void BuildLedger::FinishHere(uint64_t number, BuildReply reply, std::string why_local) {
  const auto taken = builds_.extract(number);
  AddReply(taken.mapped(), std::make_shared<const BuildReply>(std::move(reply)),
           std::move(why_local));
}

void BuildLedger::AddReply(const Build& build, std::shared_ptr<const BuildReply> reply,
                           std::string why_local) {
  const auto total =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - build.start);
  AddFinished({build.tag, TimedReply{std::move(reply), total, std::move(why_local)}});
}

std::optional<BuildLedger::Finished> BuildLedger::Take() {
  if (finished_.empty()) return std::nullopt;
  std::optional<Finished> first = std::move(finished_.front());
  finished_.pop_front();
  return first;
}

}  // namespace cccl_cache
