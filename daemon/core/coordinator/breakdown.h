// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/coordinator/build.h"
#include "daemon/core/coordinator/namespace_counts.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/statistics.h"

namespace cccl_cache::daemon {

/// A histogram of durations.
class DurationHistogram {
 public:
  /// Upper bounds of the buckets in seconds. There is one more bucket, which has no upper bound.
  static constexpr std::array kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                         0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                         1.0,    2.5,     5.0,    10.0,  30.0,   60.0};

  void Add(std::chrono::microseconds duration);
  [[nodiscard]] uint64_t count() const;
  /// Returns the number of durations that are at most kBounds[bound]. If `bound` is kBounds.size(),
  /// returns the number of all durations.
  [[nodiscard]] uint64_t CountUpTo(size_t bound) const;
  [[nodiscard]] std::chrono::microseconds mean() const {
    return count() == 0 ? std::chrono::microseconds{0} : sum_ / static_cast<int64_t>(count());
  }
  [[nodiscard]] double sum_seconds() const { return static_cast<double>(sum_.count()) * 1e-6; }

 private:
  std::array<uint64_t, kBounds.size() + 1> counts_{};
  std::chrono::microseconds sum_{0};
};

/// One value of a statistic, with its labels in the notation of OpenMetrics:
/// `kind="nvrtc",outcome="hit"`. Names that end in `_bucket`, `_sum` or `_count` are parts of a
/// histogram.
struct LabelledStatistic {
  std::string name;
  std::string labels;
  double value = 0;
  std::string_view help = {};  ///< set only in the first statistic of a family
};

/// Returns the name of a toolchain in statistics: its version and the beginning of its id, as in
/// "13.0 1f2e3d4c". The id distinguishes two installations of one version. The name contains no
/// characters that need an escape in a label.
[[nodiscard]] std::string ToolchainLabel(const std::string& version, const Digest& id);

/// Counts answered builds and their durations, by account and by kind and toolchain, since the
/// start of the daemon or the last Clear. All accounts of containers count as one account, because
/// their number is unbounded while the daemon runs. Thread-safe.
class BuildBreakdown {
 public:
  void Add(const BuildRecord& record);
  /// Counts one request for a deposit (an artifact that a client made).
  void Add(const DepositEvent& event);
  void Clear();
  using Codegen = std::pair<std::string_view, std::string>;  ///< kind of the build, and name of the
                                                             ///< toolchain
  /// Returns the mean duration of the compiles of each kind and toolchain.
  [[nodiscard]] std::map<Codegen, std::chrono::microseconds> MeanCompiles() const;
  /// Returns the statistics of all toolchains, and the statistics of the account `only`; without
  /// `only`, those of all accounts. A container has no statistics of its own.
  [[nodiscard]] std::vector<LabelledStatistic> Take(std::optional<Account> only) const;
  /// Returns the requests for deposits of the account `only` by namespace; without `only`, those of
  /// all accounts. A container has none of its own.
  [[nodiscard]] NamespaceCounts Namespaces(std::optional<Account> only) const;

 private:
  struct Row {
    std::map<std::string_view, uint64_t> outcomes;  ///< number of builds by outcome; keys are
                                                    ///< literals
    std::chrono::microseconds saved{0};
    uint64_t saved_unknown = 0;                     ///< hits and joins with an unknown compile time
    std::map<std::string_view, uint64_t> deposits;  ///< number of answered requests by outcome;
                                                    ///< keys are literals
    NamespaceCounts namespaces;
    DurationHistogram compiles;
  };
  struct Rows {
    std::map<Account, Row> accounts;
    Row other_accounts;  ///< sum of all accounts without their own row
    std::map<Codegen, Row> codegens;
    Row other_codegens;
    NamespaceCounts namespaces;  ///< of all accounts
    /// The same for metrics: clients choose namespaces, and each new label is a new series.
    NamespaceCounts exported{NamespaceCounts::IfFull::kKeep};
    DurationHistogram hits;
    DurationHistogram queue;
  };

  [[nodiscard]] Row& RowOfAccount(Account account) REQUIRES(mutex_);
  [[nodiscard]] NamespaceCounts NamespacesOf(std::optional<Account> only) const REQUIRES(mutex_);

  mutable Mutex mutex_;
  Rows rows_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
