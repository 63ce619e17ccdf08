// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/hourly_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace cccl_cache::daemon {
namespace {

std::string NameOf(Counter counter) {
  const CounterInfo& info = *std::ranges::find(Counters(), counter, &CounterInfo::counter);
  return fmt::format("{}{{{}}}", info.name, info.label);
}

std::optional<uint64_t> NumberOf(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Removes the text up to the first `separator` from `text`, and returns it without the separator.
std::string_view TakeUpTo(char separator, std::string_view& text) {
  const std::string_view taken = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

}  // namespace

void HourlyCounts::Note(std::chrono::system_clock::time_point now, const Statistics& statistics) {
  const auto hour = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::hours>(now.time_since_epoch()).count());
  const MutexLock lock(mutex_);
  const Counts before = last_;
  for (size_t i = 0; i < kHourlyCounters.size(); ++i) {
    last_[i] = statistics.Get(kHourlyCounters[i]);
  }
  if (!std::exchange(noted_, true) || last_ == before) return;
  while (!rows_.empty() && rows_.back().hour > hour) rows_.pop_back();
  HourlyCount& row = RowOf(hour);
  for (size_t i = 0; i < kHourlyCounters.size(); ++i) {
    // A counter that was set to zero has grown by its present value since.
    row.counts[i] += last_[i] - (last_[i] >= before[i] ? before[i] : 0);
  }
}

std::vector<HourlyCount> HourlyCounts::Take() const {
  const MutexLock lock(mutex_);
  return {rows_.begin(), rows_.end()};
}

void HourlyCounts::Clear() {
  const MutexLock lock(mutex_);
  rows_.clear();
}

std::string HourlyCounts::Serialize() const {
  std::string text;
  for (const HourlyCount& row : Take()) {
    text += fmt::format("{}", row.hour);
    for (size_t i = 0; i < kHourlyCounters.size(); ++i) {
      if (row.counts[i] > 0)
        text += fmt::format(" {}={}", NameOf(kHourlyCounters[i]), row.counts[i]);
    }
    text += "\n";
  }
  return text;
}

void HourlyCounts::Restore(std::string_view text) {
  const MutexLock lock(mutex_);
  while (!text.empty()) {
    std::string_view line = TakeUpTo('\n', text);
    const std::optional<uint64_t> hour = NumberOf(TakeUpTo(' ', line));
    if (!hour) continue;
    HourlyCount& row = RowOf(*hour);
    while (!line.empty()) {
      std::string_view field = TakeUpTo(' ', line);
      const std::string_view name = TakeUpTo('=', field);
      const auto known = std::ranges::find(kHourlyCounters, name, NameOf);
      if (known == kHourlyCounters.end()) continue;
      row.counts[static_cast<size_t>(known - kHourlyCounters.begin())] +=
          NumberOf(field).value_or(0);
    }
  }
}

HourlyCount& HourlyCounts::RowOf(uint64_t hour) {
  if (rows_.empty() || rows_.back().hour < hour) rows_.push_back({.hour = hour});
  if (rows_.size() > kMaxHours) rows_.pop_front();
  return rows_.back();
}

}  // namespace cccl_cache::daemon
