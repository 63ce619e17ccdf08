// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/steps/steps.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "client/src/transport/address.h"
#include "client/src/transport/timing.h"
#include "proto/digest.h"

namespace cccl_cache {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

/// Limit for calls whose result no caller needs, and for waits after one that was in vain.
constexpr std::chrono::milliseconds kBriefly{1000};

Expected<std::optional<uint32_t>> GidOf(const std::string& group) {
  if (group.empty()) return std::optional<uint32_t>();
  const auto gid = FindGroup(group);
  if (!gid.ok()) return gid.error();
  return std::optional(*gid);
}

}  // namespace

NamespaceSteps::NamespaceSteps(Options options)
    : options_(std::move(options)),
      gid_(GidOf(options_.group)),
      channel_(FindSocket(SocketSearch::FromEnvironment(options_.socket)), KeepAlive::kMax) {}

std::unique_ptr<OpenStep> NamespaceSteps::Get(std::string_view description, bool replace) {
  const std::string digest = Sha256(description).Hex();
  while (true) {
    auto step = std::make_unique<OpenStep>(shared_from_this(), digest,
                                           Flights::OfThisProcess().Enter(NameOf(digest)), replace);
    if (step->Open()) return step;
  }
}

std::unique_ptr<OpenStep> NamespaceSteps::Wait(std::string_view description) {
  const std::string digest = Sha256(description).Hex();
  const Flights::Seat seat = Flights::OfThisProcess().Find(NameOf(digest));
  auto step = std::make_unique<OpenStep>(shared_from_this(), digest, Flights::Seat{}, false);
  const auto began = Clock::now();
  Value value;
  if (seat.flight == nullptr) {
    value = Ask(digest, {.waits_only = true}).value;
  } else if (!seat.nested) {
    value = Flights::Wait(*seat.flight, began + options_.wait);
  }
  Count(value, began);
  step->SetFound(std::move(value));
  return step;
}

std::string NamespaceSteps::NameOf(const std::string& digest) const {
  return options_.name_space + '\0' + options_.group + '\0' + digest;
}

NamespaceSteps::Answer NamespaceSteps::Ask(const std::string& digest, Wish wish) {
  if (!gid_.ok()) {
    CountError(gid_.error().status);
    return {};
  }
  const DepositQuestion question = {.name_space = options_.name_space,
                                    .fields = {{"step", digest}},
                                    .gid = *gid_,
                                    .released_at_limit = wish.inside,
                                    .replaces = wish.replace,
                                    .waits_only = wish.waits_only,
                                    .hold = options_.hold};
  for (bool removed = false;; removed = true) {
    auto acquired = DepositCalls(channel_).Acquire(
        question, wish.briefly || hung_ ? std::min(options_.wait, kBriefly) : options_.wait);
    if (!acquired.ok()) {
      CountError(acquired.error().status, wish.briefly);
      return {};
    }
    hung_ = false;
    if (std::holds_alternative<ReleasedLease>(*acquired)) {
      if (!wish.waits_only) ++counts_.released;
      return {};
    }
    if (auto* lease = std::get_if<std::unique_ptr<HeldLease>>(&*acquired)) {
      return {.lease = std::move(*lease)};
    }
    auto& deposit = std::get<FoundDeposit>(*acquired);
    auto value = StepValue::FromDeposit(digest, std::move(deposit.contents));
    if (value) return {.value = std::make_shared<const StepValue>(*std::move(value))};
    CountError(CCCL_CACHE_PROTOCOL);
    if (removed || !Remove(deposit.key)) return {};
  }
}

bool NamespaceSteps::Remove(const std::string& key) {
  const auto removed = DepositCalls(channel_).Remove(key, Deadline::After(kBriefly));
  if (!removed.ok()) CountError(removed.error().status, true);
  return removed.ok() && *removed;
}

void NamespaceSteps::Publish(std::unique_ptr<HeldLease> lease, const std::string& digest,
                             const StepValue& value) {
  constexpr std::chrono::seconds kPublication{30};
  auto published = lease->Publish(value.deposit(), Deadline::After(kPublication));
  if (lease->expired()) {
    ++counts_.expired;
    lease = Ask(digest, {.briefly = true}).lease;
    if (lease == nullptr) return;  // there is another value, or another process makes it
    published = lease->Publish(value.deposit(), Deadline::After(kPublication));
  }
  if (published.ok()) {
    ++counts_.published;
  } else {
    CountError(published.error().status);
  }
}

void NamespaceSteps::Count(const Value& value, Clock::time_point began) {
  const auto waited = duration_cast<microseconds>(Clock::now() - began);
  counts_.waited_us += static_cast<uint64_t>(waited.count());
  if (value == nullptr) return;
  ++counts_.hits;
  counts_.hit_bytes += value->value().size();
  if (value->took() <= waited) return;
  counts_.saved_us += static_cast<uint64_t>((value->took() - waited).count());
}

void NamespaceSteps::CountError(cccl_cache_status status, bool briefly) {
  const bool silent = status == CCCL_CACHE_DEADLINE || status == CCCL_CACHE_UNAVAILABLE;
  if (silent && !briefly) hung_ = true;
  ++counts_.errors;
  counts_.last_error = status;
}

OpenStep::OpenStep(std::shared_ptr<NamespaceSteps> steps, std::string digest, Flights::Seat seat,
                   bool replace)
    : steps_(std::move(steps)),
      digest_(std::move(digest)),
      seat_(std::move(seat)),
      replace_(replace),
      began_(NamespaceSteps::Clock::now()) {}

bool OpenStep::Open() {
  NamespaceSteps::Value value;
  if (seat_.leads) {
    auto answer = steps_->Ask(
        digest_, {.replace = replace_, .inside = Flights::ThreadLeadsAnother(*seat_.flight)});
    value = std::move(answer.value);
    lease_ = std::move(answer.lease);
    if (value == nullptr) {
      Flights::EndWaitsAt(*seat_.flight, NamespaceSteps::Clock::now() + steps_->options_.hold);
    }
  } else if (!seat_.nested) {
    value = Flights::Wait(*seat_.flight, began_ + steps_->options_.wait);
    if (value != nullptr && seat_.flight->found() && replace_) return false;
  }
  steps_->Count(value, began_);
  began_ = NamespaceSteps::Clock::now();
  if (value != nullptr) SetFound(std::move(value));
  return true;
}

void OpenStep::SetFound(std::shared_ptr<const StepValue> value) {
  End(value, true);
  value_ = std::move(value);
}

void OpenStep::Put(std::string_view value) {
  if (value_ != nullptr) return;
  const auto took = duration_cast<microseconds>(NamespaceSteps::Clock::now() - began_);
  value_ = std::make_shared<const StepValue>(digest_, took, value);
  ++steps_->counts_.made;
  steps_->counts_.made_bytes += value.size();
  auto lease = End(value_, false);
  if (lease != nullptr) steps_->Publish(std::move(lease), digest_, *value_);
}

void OpenStep::GiveUp(bool failed) {
  if (over_) return;
  const auto lease = End(nullptr, false);
  if (lease != nullptr && failed) lease->Fail();
  if (lease != nullptr && !failed) lease->Abandon();
  if (lease != nullptr && lease->expired()) {
    ++steps_->counts_.expired;
  } else if (failed) {
    ++steps_->counts_.failed;
  }
}

std::unique_ptr<HeldLease> OpenStep::End(std::shared_ptr<const StepValue> made, bool found) {
  if (std::exchange(over_, true)) return nullptr;
  const auto& flight = seat_.flight;
  if (flight != nullptr && (seat_.leads || !flight->owned())) {
    Flights::Finish(*flight, std::move(made), found);
  }
  return std::move(lease_);
}

}  // namespace cccl_cache
