// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/nvcc/choice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "client/standin/kept_run.h"
#include "client/standin/real_tool.h"

namespace cccl_cache::nvcc {
namespace {

using std::chrono::milliseconds;

/// The number of results that are kept for one command line and text, with other states of headers.
constexpr uint8_t kMostClosures = 8;
/// Limit for the removal of a result, which the daemon answers immediately.
constexpr milliseconds kRemoval{2000};

/// A stored result whose closure does not hold.
struct Outdated {
  uint8_t number;
  uint64_t made_s;
  std::string key;
};

}  // namespace

Choice Choose(Client* client, const Command& command, const std::string& group,
              const UserCache& facts, std::chrono::steady_clock::time_point until) {
  const auto left = [until] {
    const auto rest = until - std::chrono::steady_clock::now();
    return std::max(std::chrono::floor<milliseconds>(rest), milliseconds(0));
  };
  std::optional<Outdated> oldest;
  for (uint8_t number = 0; number <= kMostClosures; ++number) {
    uint8_t asked = number;
    if (number == kMostClosures) {
      const auto removed = client->RemoveDeposit(oldest->key, kRemoval);
      if (!removed.ok() || !*removed) break;
      asked = oldest->number;
    }
    auto acquired = standin::Ask(client, command.Key(group, asked), facts, left());
    if (const auto* why = std::get_if<interpose::Reason>(&acquired)) return *why;
    Acquired& made = std::get<Acquired>(acquired);
    if (auto* lease = std::get_if<Lease>(&made)) return Vacancy{asked, std::move(*lease)};
    auto& deposit = std::get<Deposit>(made);
    auto kept = KeptStep::Decode(deposit.contents());
    // Messages of both outputs in one text can't be told apart.
    const bool fits = kept && (!kept->joined || kept->out.empty() || standin::OutputsAreOne());
    const bool elsewhere = fits && !kept->only_in.empty() && kept->only_in != command.Source();
    if (elsewhere && command.fresh) return NeedsOwnName{};
    const standin::FreshDirectory* fresh =
        command.fresh && kept && kept->only_in.empty() ? &*command.fresh : nullptr;
    if (fits && !elsewhere && kept->closure.Holds(facts, fresh)) {
      return Hit{std::move(deposit), *std::move(kept)};
    }
    // A damaged result counts as the oldest.
    const uint64_t made_s = kept ? kept->made_s : 0;
    if (!oldest || made_s < oldest->made_s) {
      oldest = Outdated{number, made_s, std::string(deposit.key())};
    }
  }
  return Full{};
}

}  // namespace cccl_cache::nvcc
