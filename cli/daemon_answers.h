// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/client.h"

namespace cccl_cache::cli {

// The daemon's answers about itself: the fields are those of proto/cccl_cache/v1/admin.proto.

struct Statistic {
  std::string name;
  std::string label;
  double value = 0;
  bool gauge = false;
  std::string help;
  std::string labels;
};

struct RemoteTier {
  std::string address;  ///< empty: none is configured
  std::string problem;
};

struct Statistics {
  std::vector<Statistic> statistics;
  std::string version;
  RemoteTier remote;

  /// Returns the sum over one tier, or over all tiers.
  [[nodiscard]] double Sum(std::string_view name, std::string_view tier = {}) const;
};

[[nodiscard]] Expected<Statistics> AskStatistics(Client& client,
                                                 std::chrono::milliseconds timeout = {});
/// The same with statistics that have `labels`.
[[nodiscard]] Expected<Statistics> AskDetailedStatistics(Client& client,
                                                         std::chrono::milliseconds timeout = {});

}  // namespace cccl_cache::cli
