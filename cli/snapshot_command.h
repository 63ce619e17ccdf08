// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/snapshot.h"
#include "proto/signature.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cccl_cache::cli {

/// The options of the snapshot commands. Must outlive the app.
struct SnapshotOptions {
  std::string file;
  std::string since_snapshot;
  std::string after;
  std::string before;
  std::vector<std::string> trusted;  ///< files of keys, one of which must have signed it; empty: no
                                     ///< signature is needed
  SnapshotFilter filter;

  /// Returns whether the filter selects less than all of this user's entries.
  [[nodiscard]] bool Narrows() const;
  /// Returns whether other users' entries are selected; then private entries are not.
  [[nodiscard]] bool AsksForOthers() const { return filter.all_users || !filter.uids.empty(); }
};

void AddFileArgument(CLI::App* command, SnapshotOptions* options, const std::string& help);
/// Adds the options that select what is exported.
void AddFilterOptions(CLI::App* command, SnapshotOptions* options);

/// Parses a time: seconds since 1970, "2026-05-04" or "2026-05-04T10:12:31" (UTC), or a duration
/// before now: "30m", "12h", "7d". Returns none for any other text.
[[nodiscard]] std::optional<std::chrono::sys_seconds> ParseMoment(const std::string& text,
                                                                  std::chrono::sys_seconds now);

/// Returns the output of `snapshot list`: the items of an open file.
[[nodiscard]] Expected<std::string> ListText(int fd);
[[nodiscard]] Expected<std::string> ListJson(int fd);

/// Returns the output of the other commands. `done`: a verb, as "written".
[[nodiscard]] std::string SummaryText(const cccl_cache_snapshot_summary& summary,
                                      std::string_view done, std::string_view left_out);
[[nodiscard]] std::string SummaryJson(const cccl_cache_snapshot_summary& summary);

/// Returns the key that signed the snapshot FILE in FILE.sig; it must be in one of the files
/// `trusted`. The error says why there is no such signature.
[[nodiscard]] Expected<PublicKey> SignerOf(const std::string& file,
                                           const std::vector<std::string>& trusted);

}  // namespace cccl_cache::cli
