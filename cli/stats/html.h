// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cli/daemon_answers.h"
#include "cli/terminal/user_names.h"

namespace cccl_cache::cli {

/// Facts that the page of `stats --html` shows beside the daemon's statistics.
struct HtmlContext {
  std::string node;
  std::string socket;
  std::string problem;  ///< the problem that the daemon reports, or ""
  uint64_t now_s = 0;   ///< since 1970
  NameOfUser name_of;
};

/// Returns detailed statistics as an HTML page that loads nothing and contains no script. All texts
/// of clients and users are escaped.
[[nodiscard]] std::string StatsHtml(const Statistics& stats, const HtmlContext& context);

}  // namespace cccl_cache::cli
