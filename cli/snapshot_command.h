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

/// The options of the snapshot commands. CLI11 stores parsed values in this object, so it must
/// outlive the CLI::App.
struct SnapshotOptions {
  std::string file;
  std::string since_snapshot;
  std::string after;
  std::string before;
  std::vector<std::string> trusted;  ///< files of keys, one of which must have signed the snapshot;
                                     ///< empty if no signature is required
  SnapshotFilter filter;

  /// Returns whether the filter can exclude entries of this user.
  [[nodiscard]] bool Narrows() const;
  /// Returns whether entries of other users are requested. Such a snapshot has no entries that a
  /// user has inserted for that user alone.
  [[nodiscard]] bool AsksForOthers() const { return filter.all_users || !filter.uids.empty(); }
};

void AddFileArgument(CLI::App* command, SnapshotOptions* options, const std::string& help);
/// Adds the options that select the entries to export.
void AddFilterOptions(CLI::App* command, SnapshotOptions* options);

/// Parses a point in time: seconds since 1970, "2026-05-04" or "2026-05-04T10:12:31" (UTC), or a
/// duration before `now` such as "30m", "12h" or "7d". Returns none for other texts.
[[nodiscard]] std::optional<std::chrono::sys_seconds> ParseMoment(const std::string& text,
                                                                  std::chrono::sys_seconds now);

/// Returns the output of `snapshot list` as text or JSON. `fd` is an open snapshot file.
[[nodiscard]] Expected<std::string> ListText(int fd);
[[nodiscard]] Expected<std::string> ListJson(int fd);

/// Returns the output of the other commands as text or JSON. `done` is a participle such as
/// "written". `left_out` describes why entries were left out.
[[nodiscard]] std::string SummaryText(const cccl_cache_snapshot_summary& summary,
                                      std::string_view done, std::string_view left_out);
[[nodiscard]] std::string SummaryJson(const cccl_cache_snapshot_summary& summary);

/// Verifies the signature of the snapshot `file`, which is in FILE.sig, and returns the key that
/// made it. The key must be in one of the files `trusted`. Otherwise fails, and the message
/// explains why.
[[nodiscard]] Expected<PublicKey> SignerOf(const std::string& file,
                                           const std::vector<std::string>& trusted);

}  // namespace cccl_cache::cli
