// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cccl_cache/snapshot.h"

namespace cccl_cache::cli {

/// What `snapshot list` prints: the items of an open file.
[[nodiscard]] Expected<std::string> ListText(int fd);
[[nodiscard]] Expected<std::string> ListJson(int fd);

/// What the other commands print. `done`: "written", ...
[[nodiscard]] std::string SummaryText(const cccl_cache_snapshot_summary& summary,
                                      std::string_view done, std::string_view left_out);
[[nodiscard]] std::string SummaryJson(const cccl_cache_snapshot_summary& summary);

}  // namespace cccl_cache::cli
