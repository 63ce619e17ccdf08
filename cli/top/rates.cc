// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/top/rates.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace cccl_cache::cli::top {
namespace {

constexpr double kMinute = 60;

}  // namespace

void HitRates::Add(double time, double served, double compiled) {
  if (!totals_.empty() && (time < totals_.back().time || served < totals_.back().served ||
                           compiled < totals_.back().compiled)) {
    totals_.clear();
  }
  totals_.push_back({time, served, compiled});
  while (totals_.front().time < time - kMinute) totals_.pop_front();
}

std::optional<double> HitRates::OfLastMinute() const {
  if (totals_.empty()) return std::nullopt;
  const double served = totals_.back().served - totals_.front().served;
  const double all = served + totals_.back().compiled - totals_.front().compiled;
  return all > 0 ? std::optional(served / all) : std::nullopt;
}

std::optional<double> HitRates::ServedInLastMinute() const {
  if (totals_.size() < 2) return std::nullopt;
  return totals_.back().served - totals_.front().served;
}

std::string HitRates::Sparkline(size_t times, bool utf8) const {
  constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<const char*, 8> kAscii = {"_", ".", "-", "~", "=", "+", "*", "#"};
  const size_t shown = std::min(times, totals_.size() - std::min<size_t>(totals_.size(), 1));
  std::string line;
  for (size_t i = totals_.size() - shown; shown > 0 && i < totals_.size(); ++i) {
    const double served = totals_[i].served - totals_[i - 1].served;
    const double all = served + totals_[i].compiled - totals_[i - 1].compiled;
    const auto level = static_cast<size_t>(all > 0 ? std::round(7 * served / all) : 0);
    line += all <= 0 ? " " : (utf8 ? kBlocks : kAscii)[level];
  }
  return line;
}

}  // namespace cccl_cache::cli::top
