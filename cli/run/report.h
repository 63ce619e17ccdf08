// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cccl_cache/expected.h"
#include "cli/run/temporary_directory.h"
#include "client/interpose/report.h"

namespace cccl_cache::cli {

/// The counts of one process, over all its stand-in libraries, or the sums over several processes.
struct RunCounts {
  int pid = 0;
  std::string program;
  uint64_t calls = 0;
  uint64_t hits = 0;
  uint64_t joined = 0;
  uint64_t compiled = 0;
  uint64_t failed = 0;
  uint64_t call_us = 0;
  uint64_t forwarded_us = 0;
  uint64_t saved_us = 0;
  std::array<uint64_t, interpose::kReasonNames.size()> forwarded{};
  std::string refusal;          ///< the daemon's message for the first refused request
  std::string unknown_library;  ///< path of the first library that the daemon does not have
  uint64_t uncacheable = 0;
  std::string uncacheable_reason;  ///< the reason of the first uncacheable build
  uint64_t precompiled_headers = 0;
  int step_of = 0;  ///< process of the run of nvcc of which this one is a step; 0: none
};

/// Functions that get advice for the report from the daemon. Each is called only if a call was
/// forwarded to the real library for the reason that it explains.
struct Advisor {
  /// Returns why no daemon can be reached, and a remedy. Returns "" if a daemon can be reached.
  std::function<std::string()> no_daemon;
  /// Returns why the daemon does not know the library at the path `library`, and a remedy.
  std::function<std::string(const std::string& library)> unknown_library;
};

/// A temporary directory in which the processes of a run write their counts.
class RunReport {
 public:
  /// Fails if the directory can't be made, or if the processes may write no files.
  static Expected<RunReport> Make();

  [[nodiscard]] const std::string& directory() const { return directory_.path(); }
  /// Returns the report as text. It begins with a sentence that sums up the outcomes. If `each`, it
  /// also has a line for each process. Sums leave out the steps of runs of nvcc, whose time is in
  /// that of their runs. `coloured`: with escape sequences for a terminal.
  [[nodiscard]] std::string Text(bool each, const Advisor& advisor, bool coloured = false) const;
  [[nodiscard]] std::string Json(bool each, const Advisor& advisor) const;
  /// Returns the sum over all processes, without the steps of runs of nvcc.
  [[nodiscard]] RunCounts Total(const Advisor& advisor) const;

 private:
  explicit RunReport(TemporaryDirectory directory) : directory_(std::move(directory)) {}
  /// Returns the counts of the processes in the order of their pids, with advice for unknown
  /// libraries.
  [[nodiscard]] std::vector<RunCounts> Read(const Advisor& advisor) const;

  TemporaryDirectory directory_;
};

/// Returns the number of calls that the real library answered.
[[nodiscard]] uint64_t Forwarded(const RunCounts& counts);
/// Returns a time such as "0.011 s" or "41.4 s".
[[nodiscard]] std::string SecondsText(uint64_t microseconds);
/// Returns lines about the compiles of a run that were no hits, with reasons and advice. Returns ""
/// if all were hits.
[[nodiscard]] std::string DescribeMisses(const RunCounts& counts, const Advisor& advisor);
/// Writes the counts as members of a JSON object.
void WriteCounts(const RunCounts& counts, JsonWriter* json);

}  // namespace cccl_cache::cli
