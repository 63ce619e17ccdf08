// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

namespace cccl_cache::cli::top {

/// The proportion of builds in the last minute that needed no compile ("served").
class HitRates {
 public:
  /// Adds the daemon's totals at the time `time`, in seconds. If a total or the time has decreased,
  /// for example after a reset, earlier totals are discarded.
  void Add(double time, double served, double compiled);
  /// Returns the proportion of served builds in the last minute, from 0 to 1. Returns none if there
  /// were no builds.
  [[nodiscard]] std::optional<double> OfLastMinute() const;
  /// Returns the number of served builds in the last minute. Returns none until two totals were
  /// added.
  [[nodiscard]] std::optional<double> ServedInLastMinute() const;
  /// Returns a bar chart of the hit rate: one character for each of the last `times` intervals. A
  /// space means that there were no builds. The characters are ASCII unless `utf8`.
  [[nodiscard]] std::string Sparkline(size_t times, bool utf8) const;

 private:
  struct Totals {
    double time;
    double served;
    double compiled;
  };
  std::deque<Totals> totals_;
};

}  // namespace cccl_cache::cli::top
